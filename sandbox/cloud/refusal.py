"""How ARM says no."""

from __future__ import annotations


class Refusal(Exception):
    """A request that ARM refuses: HTTP status, Azure's error code and a message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message = status, code, message
