"""What the setup says to a person when it cannot go on."""

from __future__ import annotations


class SetupError(Exception):
    """Given what is missing or broken, why it matters and what to do, say so in one message."""

    def __init__(self, what: str, why: str, hint: str) -> None:
        super().__init__(f"{what}\n  why it is needed: {why}\n  what to do: {hint}")


def explain(error: OSError) -> str:
    """Given an error of the system, return what it was and what to do."""
    if isinstance(error, PermissionError):
        return f"{error}: run as the user who set up this checkout"
    return f"{error}: free what it names (space on the disk, most often), then run this again"
