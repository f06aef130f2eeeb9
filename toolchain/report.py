"""Prints the setup's report: one line per tool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from toolchain.context import Tool


def print_tools(tools: Iterable[Tool], out: TextIO) -> None:
    """Given tools, print what each is, its version and where it is from."""
    for tool in tools:
        print(f"  {tool.name:<16} {tool.version:<18} {tool.source}", file=out, flush=True)
