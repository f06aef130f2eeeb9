"""./run: the commands it knows, and how it says that a machine lacks something."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "run"
BASICS = ("bash", "cat", "dirname", "env", "id", "readlink", "sh", "uname")


@pytest.fixture
def bare_machine(tmp_path):
    """A PATH with a shell's basics and nothing else: no Python, no apt, no tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return folder


def fake(folder, name, text):
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run(*words, path=os.environ["PATH"], program=RUN):
    return subprocess.run(
        [program, *words], env={**os.environ, "PATH": str(path)}, capture_output=True, text=True, cwd="/"
    )


def test_alone_it_lists_its_commands():
    done = run()
    assert done.returncode == 0
    for command in ("setup", "rehearsal", "tests", "shell", "sandbox", "bench"):
        assert f"  {command} " in done.stdout


def test_an_unknown_command_is_refused_and_the_known_ones_shown():
    done = run("rehearse")
    assert done.returncode == 1
    assert "no command 'rehearse'" in done.stderr
    assert "rehearsal" in done.stderr


def test_it_is_found_through_a_chain_of_symlinks(tmp_path):
    (tmp_path / "first").symlink_to(RUN)
    (tmp_path / "second").symlink_to("first")
    assert run("help", program=tmp_path / "second").returncode == 0


def test_everything_that_is_missing_is_told_at_once(bare_machine):
    fake(bare_machine, "id", "echo 1000")
    done = run("setup", path=bare_machine)
    assert done.returncode == 1
    for missing in ("Python 3.11 or newer", "apt-get", "root"):
        assert f"* {missing}" in done.stderr
    assert done.stderr.count("why it is needed:") == done.stderr.count("what to do:") >= 3


def test_on_macos_it_says_what_works_there_and_what_does_not(bare_machine):
    fake(bare_machine, "uname", "echo Darwin")
    done = run("rehearsal", path=bare_machine)
    assert done.returncode == 1
    assert "Linux (this is Darwin)" in done.stderr
    assert "./run tests unit" in done.stderr


def test_an_older_python_counts_as_none(bare_machine):
    fake(bare_machine, "python3", "exit 1")  # what its version check answers
    done = run("tests", "unit", path=bare_machine)
    assert done.returncode == 1
    assert "Python 3.11 or newer" in done.stderr


def test_the_unit_tests_need_no_root(bare_machine):
    fake(bare_machine, "id", "echo 1000")
    assert "root" not in run("tests", "unit", path=bare_machine).stderr


def test_a_machine_without_namespaces_is_named(bare_machine):
    fake(bare_machine, "id", "echo 0")
    fake(bare_machine, "unshare", "exit 1")
    assert "the right to make namespaces" in run("setup", path=bare_machine).stderr
