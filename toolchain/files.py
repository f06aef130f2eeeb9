"""Folders that appear whole or not at all, and locks that die with their holder."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(lock: Path, what: str) -> Iterator[None]:
    """Given a lock file, hold it while the body runs; say who is waited for. The kernel drops it when we die."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"  … another ./run is setting up {what}; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Given a folder that must not exist half made, yield a new one that takes its name when the body succeeds.

    The caller holds the lock of `target`. What a killed run left behind is removed first.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.new-"
    for leftover in target.parent.glob(f"{prefix}*"):
        remove(leftover)
    fresh = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    fresh.chmod(0o755)
    try:
        yield fresh
        remove(target)
        fresh.rename(target)
    finally:
        remove(fresh)


def write_atomically(path: Path, text: str, mode: int = 0o644) -> bool:
    """Given a text, make `path` hold it, never half of it, and return whether anything changed."""
    if path.is_file() and path.read_text() == text and path.stat().st_mode & 0o777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(name, mode)
    os.replace(name, path)
    return True


def remove(path: Path) -> None:
    """Given a file or folder that may not exist, remove it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
