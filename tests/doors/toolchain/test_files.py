"""Folders appear whole or not at all, whatever kills the setup; locks make two setups wait for each other."""

import subprocess
import sys

import pytest

from toolchain import files
from toolchain.versions import FOLDER


def test_a_folder_appears_whole_when_the_work_succeeds(tmp_path):
    with files.appearing(tmp_path / "tool") as fresh:
        (fresh / "a").write_text("1")
        assert not (tmp_path / "tool").exists()
    assert (tmp_path / "tool" / "a").read_text() == "1"


def test_a_failure_leaves_neither_the_folder_nor_a_half_of_it(tmp_path):
    with pytest.raises(RuntimeError), files.appearing(tmp_path / "tool") as fresh:
        (fresh / "a").write_text("1")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    (tmp_path / ".tool.new-abc").mkdir()
    with files.appearing(tmp_path / "tool"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["tool"]


def test_a_file_is_only_written_when_it_changes(tmp_path):
    assert files.write_atomically(tmp_path / "f", "text", 0o755)
    assert not files.write_atomically(tmp_path / "f", "text", 0o755)
    assert files.write_atomically(tmp_path / "f", "text", 0o644)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644


HOLDER = """
import sys, time
from pathlib import Path
from toolchain.files import exclusive
with exclusive(Path(sys.argv[1]), "a thing"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(lock, seconds):
    """Start a process that holds a lock, and return it once it does."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock, str(seconds)], cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_setup_waits_and_says_for_what(tmp_path, capsys):
    with hold(tmp_path / "lock", 0.5) as holder, files.exclusive(tmp_path / "lock", "a thing"):
        assert holder.wait(5) == 0
    assert "another ./run is setting up a thing" in capsys.readouterr().err


def test_a_killed_holder_holds_nothing(tmp_path, capsys):
    with hold(tmp_path / "lock", 60) as holder:
        holder.kill()
        holder.wait()
        with files.exclusive(tmp_path / "lock", "a thing"):
            assert "another ./run" not in capsys.readouterr().err
