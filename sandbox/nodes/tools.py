"""Run a tool and say clearly what failed."""

import subprocess
from collections.abc import Sequence


class ToolError(RuntimeError):
    """A tool could not do what it was asked; the message holds the command and its own words."""


def run(argv: Sequence[str], *, stdin: str | None = None, timeout: float = 60) -> str:
    """Given a command, return its standard output. Raise ToolError if it fails or takes over `timeout` seconds."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL if stdin is None else None,
        )
    except FileNotFoundError as missing:
        raise ToolError(f"{argv[0]} is not installed") from missing
    except subprocess.TimeoutExpired as late:
        raise ToolError(f"`{' '.join(argv)}` did not end within {timeout:g} s") from late
    if done.returncode != 0:
        raise ToolError(f"`{' '.join(argv)}` exited {done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout
