"""The one door to the node: run a command, read and write a file. Everything is argv; nothing goes through a shell."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C", "HOME": "/root"}
"""A fixed environment: no variable of the caller changes what a tool answers, or as whom it works."""


@dataclass(frozen=True)
class Done:
    """A finished command. `rc` is its exit code; 127 = not installed, 124 = did not end in time."""

    rc: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.rc == 0


def run(argv: Sequence[str], *, timeout_s: float = 30.0, stdin: str = "") -> Done:
    """Given an argv, run it as root and return what it said; a missing program or a timeout is an answer, not an
    exception."""
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=ENVIRONMENT,
            check=False,
        )
    except FileNotFoundError:
        return Done(127, "", f"{argv[0]}: not installed")
    except subprocess.TimeoutExpired as late:
        said = late.stderr.decode("utf-8", "replace") if isinstance(late.stderr, bytes) else (late.stderr or "")
        return Done(124, "", f"{argv[0]}: did not end within {timeout_s:g} s {said}".strip())
    return Done(done.returncode, done.stdout, done.stderr)


def read(path: str) -> str | None:
    """Given a path, return the file's text, or None where there is none (or none to read)."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None


def write(path: str, content: str, *, mode: int = 0o644, owner: str = "root:root") -> None:
    """Given a path and its content, write it whole: a reader sees the old file or the new one."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".feedline-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        _own(temporary, owner)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def folder(path: str, *, mode: int = 0o755, owner: str = "root:root") -> None:
    """Given a path, make the folder and set its mode and owner."""
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    _own(path, owner)


def _own(path: str, owner: str) -> None:
    user, _, group = owner.partition(":")
    entry = pwd.getpwnam(user)
    gid = entry.pw_gid if not group or group == user else pwd.getpwnam(group).pw_gid
    os.chown(path, entry.pw_uid, gid)
