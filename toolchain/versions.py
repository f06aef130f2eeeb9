"""Reads versions.toml and compares versions."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


@cache
def pinned() -> dict[str, Any]:
    """Return the content of versions.toml."""
    return tomllib.loads((FOLDER / "versions.toml").read_text())


def first_version(text: str) -> str | None:
    """Given what a tool printed, return the first dotted version in it without a leading v or go, or None."""
    found = re.search(r"\d+\.\d+(?:\.\d+)*", text)
    return found.group() if found else None


def at_least(version: str, minimum: str) -> bool:
    """Given two dotted versions, return whether the first is the second or newer."""
    return _numbers(version) >= _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
