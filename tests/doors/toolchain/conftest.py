"""What the setup's tests share: a context whose checkout and cache are throw-away folders."""

import stat
from pathlib import Path

import pytest

from toolchain.context import Context


@pytest.fixture
def context(tmp_path):
    checkout = tmp_path / "check out"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    return Context(checkout, tmp_path / "cache", "registry")


@pytest.fixture
def path_folder(tmp_path, monkeypatch):
    """An empty folder that is the whole PATH, but for the shell's own tools."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def program(path: Path, text: str) -> Path:
    """Given a path and what it should print, write a program there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'TEXT'\n{text}\nTEXT\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def make_program():
    return program
