"""Runs other programs: argv lists only, and an error that shows what the program said."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolchain.errors import SetupError

TAIL_LINES = 25


def run(
    argv: Sequence[str | Path],
    why: str,
    hint: str,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Given a command, return what it printed on stdout. Raise SetupError with its last lines if it fails."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=None if env is None else {**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SetupError(f"cannot start {words[0]}: {error.strerror}", why, hint) from error
    if done.returncode:
        said = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-TAIL_LINES:])
        raise SetupError(f"{shlex.join(words)} failed with exit code {done.returncode}:\n{said}", why, hint)
    return done.stdout


def output_of(argv: Sequence[str | Path]) -> str | None:
    """Given a command that only tells something, return what it printed, or None if it cannot be used."""
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None
