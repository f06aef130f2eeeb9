"""What a mount's unit asks before it starts: is the cache on the NVMe - and what is the daemon started from."""

import hashlib
import json
from pathlib import Path

import pytest

from node import guard


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache root that is on the NVMe (device 7) as long as there is a file `nvme`; everything else is on 1."""
    (tmp_path / "resource").mkdir()
    (tmp_path / "nvme").touch()

    def device(path: str) -> int:
        return 7 if path.startswith(str(tmp_path)) and (tmp_path / "nvme").exists() else 1

    monkeypatch.setattr(guard, "device", device)
    return tmp_path


def config(place: Path, cache: str) -> str:
    path = place / "m.yaml"
    path.write_text(f"xload:\n  path: {cache}\n")
    return str(path)


def test_a_cache_on_the_nvme_is_made(place: Path) -> None:
    root = f"{place}/resource/cache"
    guard.check_cache(config(place, f"{root}/m"), root)
    assert Path(root, "m").is_dir()


def test_a_cache_on_the_device_of_the_root_is_refused_and_not_made(place: Path) -> None:
    (place / "nvme").unlink()
    root = f"{place}/resource/cache"
    with pytest.raises(SystemExit, match="fab nvme"):
        guard.check_cache(config(place, f"{root}/m"), root)
    assert not Path(root).exists()


def test_something_mounted_over_the_cache_folder_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = f"{place}/resource/cache"
    monkeypatch.setattr(guard, "device", lambda path: {"/": 1, f"{place}/resource": 7}.get(path, 9))
    with pytest.raises(SystemExit, match="another device"):
        guard.check_cache(config(place, f"{root}/m"), root)


@pytest.mark.parametrize("cache", ["/var/cache/m", "{root}", "{root}/a/b", "{root}/../m", "{root}x/m"])
def test_a_cache_anywhere_else_is_refused(place: Path, cache: str) -> None:
    root = f"{place}/resource/cache"
    with pytest.raises(SystemExit, match="fab cache"):
        guard.check_cache(config(place, cache.format(root=root)), root)


def test_what_the_daemon_is_started_from_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.yaml").write_text("configuration")
    monkeypatch.setattr(guard, "mount_config", lambda mount: str(tmp_path / f"{mount}.yaml"))
    monkeypatch.setattr(guard, "UNITS", str(tmp_path))
    (tmp_path / "feedline-mount-m.service").write_text("unit")
    monkeypatch.setattr(guard, "started_record", lambda mount: str(tmp_path / "run" / f"{mount}.json"))
    monkeypatch.setenv("INVOCATION_ID", "1f")
    guard.note_start("m")
    noted = json.loads((tmp_path / "run" / "m.json").read_text())
    assert noted == {
        "invocation": "1f",
        "config_sha256": hashlib.sha256(b"configuration").hexdigest(),
        "unit_sha256": hashlib.sha256(b"unit").hexdigest(),
    }


def test_a_mount_that_does_not_come_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "POLL_S", 0.01)
    with pytest.raises(SystemExit, match="was not mounted within"):
        guard.wait_mounted("/nowhere/at/all", 0.05)
