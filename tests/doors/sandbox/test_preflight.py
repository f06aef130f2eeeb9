"""What a machine lacks is said all at once, with how to get it."""

import platform
from pathlib import Path

import pytest

from sandbox import preflight
from sandbox.preflight import Tools, problems


def test_macos_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    (only,) = problems(Tools(None, None))
    assert "Darwin" in only


def test_everything_missing_is_listed_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(preflight, "TOOLS", {"no-such-tool": "its-package"})
    text = "\n".join(problems(Tools(azcopy=tmp_path / "gone", azurite=None, blobfuse2=tmp_path / "gone-too")))
    for part in ("sudo", "apt-get install its-package", "FEEDLINE_AZCOPY", "FEEDLINE_AZURITE", "stand-in"):
        assert part in text


def test_tools_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDLINE_AZCOPY", "/opt/azcopy")
    monkeypatch.setenv("FEEDLINE_AZURITE", "")
    monkeypatch.delenv("FEEDLINE_BLOBFUSE2", raising=False)
    assert Tools.of_environment() == Tools(Path("/opt/azcopy"), None, None)
