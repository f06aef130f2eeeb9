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


KILL_WAIT_S = 2.0

_LEFT: list[subprocess.Popen[str]] = []
"""Commands that could not be killed: kept, so that nobody waits for them when they are forgotten."""


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
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=ENVIRONMENT,
        )
    except FileNotFoundError:
        return Done(127, "", f"{argv[0]}: not installed")
    try:
        out, err = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return Done(124, "", f"{argv[0]}: did not end within {timeout_s:g} s {_give_up(process)}".strip())
    return Done(process.returncode, out, err)


def _give_up(process: subprocess.Popen[str]) -> str:
    """Kill a command that is late, and return what it had said.

    One that waits inside the kernel for a stuck FUSE daemon cannot be killed: it is left alone. subprocess.run would
    wait for it, and the answer "it hangs" would never be given (seen with statfs on such a mount).
    """
    process.kill()
    try:
        return process.communicate(timeout=KILL_WAIT_S)[1]
    except subprocess.TimeoutExpired:
        _LEFT.append(process)
        return "and cannot be killed: it waits in the kernel"


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
