"""The errors a user can meet. Each says what is wrong, where, and what to do; none is ever shown as a traceback."""

from __future__ import annotations

from collections.abc import Sequence


class FeedlineError(Exception):
    """Something a person has to know. `exit_code` is the code the command ends with."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(what)

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  hint: {self.hint}" if self.hint else head


class SettingsError(FeedlineError):
    """The settings hold mistakes; `problems` names every one of them."""

    def __init__(self, problems: Sequence[str], *, where: str = "", hint: str = "") -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{count} {'problem' if count == 1 else 'problems'}, nothing was changed:"
        super().__init__("\n".join([head, *(f"  - {p}" for p in self.problems)]), where=where, hint=hint)


class OperationError(FeedlineError):
    """Something could not be done (exit 1)."""


class CheckError(FeedlineError):
    """Everything was done, and the answer is no (exit 2)."""

    exit_code = 2
