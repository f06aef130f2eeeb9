"""Small programs that run on a node before the bundle is there: sent as the text of `python3 -I -c`, standard
library only.

They run on Python 3.10 and later, as root.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PYTHON = "/usr/bin/python3"


def argv(program: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """Given a program of this folder and its arguments, return the command that runs it on a node as root."""
    text = Path(__file__).with_name(f"{program}.py").read_text()
    return ("sudo", "-n", PYTHON, "-I", "-c", text, *arguments)
