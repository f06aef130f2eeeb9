"""What a node holds: open files by program, and the cache's files."""

from pathlib import Path

import pytest

from node import drain


def test_files_open_on_a_mount_are_named_with_their_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "PROC", str(tmp_path))
    (tmp_path / "41" / "fd").mkdir(parents=True)
    (tmp_path / "41" / "comm").write_text("python\n")
    (tmp_path / "41" / "fd" / "3").symlink_to("/mnt/checkpoints/step-9")
    (tmp_path / "41" / "fd" / "4").symlink_to("/mnt/checkpoints-old/x")
    (tmp_path / "41" / "cwd").symlink_to("/mnt/checkpoints")
    mapped = "7f0-7f1 r--s 00000000 00:2f 12  /mnt/checkpoints/run 1/shard\n7f2-7f3 rw-p 00000000 00:00 0 [heap]\n"
    (tmp_path / "41" / "maps").write_text(mapped + "7f4-7f5 rw-p 00000000 00:00 0\n")
    (tmp_path / "42").mkdir()  # ended meanwhile
    assert drain.open_files(["/mnt/checkpoints"]) == {
        "/mnt/checkpoints/step-9 (python, 41)",
        "/mnt/checkpoints/run 1/shard (python, 41)",
        "/mnt/checkpoints (python, 41)",
    }


def test_the_caches_files_are_told_by_blob_name(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "step-1").write_bytes(b"12345")
    assert drain.cached(str(tmp_path)) == [("run/step-1", 5)]
    assert drain.cached(str(tmp_path / "none")) == []
