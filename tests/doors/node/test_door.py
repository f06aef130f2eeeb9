"""The door answers whatever a command does, and writes a file whole or not at all."""

import os
import signal
import stat
from pathlib import Path

import pytest

from node import door


def test_a_command_is_given_its_input_and_answers() -> None:
    assert door.run(["cat"], stdin="hello") == door.Done(0, "hello", "")


def test_a_program_that_is_not_there_is_an_answer() -> None:
    assert door.run(["no-such-program"]).rc == 127


def test_a_command_that_is_late_is_killed_and_the_answer_says_so() -> None:
    done = door.run(["sh", "-c", "exec sleep 600"], timeout_s=0.2)  # longer than a test may take
    assert (done.rc, "0.2 s" in done.err) == (124, True)


def test_a_command_that_cannot_be_killed_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one that waits for a stuck FUSE daemon: the child here keeps the pipes open after its parent was killed."""
    monkeypatch.setattr(door, "KILL_WAIT_S", 0.2)
    done = door.run(["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; wait"], timeout_s=0.2)
    assert done.rc == 124 and "cannot be killed" in done.err
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # it was left alone: it still runs
    door._LEFT.pop().wait()


def test_the_callers_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "other")
    assert "AZURE_STORAGE_ACCOUNT" not in door.run(["env"]).out


def test_a_file_that_is_not_there_is_none_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert door.read(str(tmp_path / "none")) is None and door.read(str(tmp_path / "empty")) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT MEASURED: only root gives files to root")
def test_a_file_is_written_with_its_mode_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    door.write(str(path), "text", mode=0o600)
    assert path.read_text() == "text" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyError):
        door.write(str(path), "new", owner="no-such-user:x")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["file"]
