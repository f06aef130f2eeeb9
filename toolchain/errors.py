"""The one error that the setup shows to a person."""

from __future__ import annotations


class SetupError(Exception):
    """Given what is missing or broken, why it matters and what to do, say so in one message."""

    def __init__(self, what: str, why: str, hint: str) -> None:
        super().__init__(f"{what}\n  why it is needed: {why}\n  what to do: {hint}")
