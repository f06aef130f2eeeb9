"""The answer of a gate: what was expected, what was measured, and what that means. Unknown never passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Outcomes from best to worst; a node and a cluster are as good as their worst."""

    PASS = "PASS"
    WARN = "WARN"
    NOT_MEASURED = "NOT_MEASURED"
    INVALID = "INVALID"
    FAIL = "FAIL"


_RANK = {status: rank for rank, status in enumerate(Status)}


@dataclass(frozen=True)
class Verdict:
    """One judged check.

    `gate` is the runbook task (`validate`), `check` the thing judged in it (`nvme-warm feed`), `subject` the node,
    identity or data set. `reason` is a stable code (`CACHE_ON_OS_DISK`), `message` a sentence with the numbers needed
    to judge. `value`, `lower`, `upper` are in `unit`; `evidence` holds counters and raw facts as JSON values.
    """

    gate: str
    check: str
    subject: str
    status: Status
    reason: str
    message: str
    hint: str = ""
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values, without the keys that carry nothing."""
        return {key: value for key, value in asdict(self).items() if value not in (None, "", {})}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Verdict:
        """Given what `as_dict` returned, return the verdict. Raise KeyError or ValueError if it is not one."""
        return cls(**{**raw, "status": Status(raw["status"])})


def worst(statuses: Iterable[Status]) -> Status:
    """Given statuses, return the worst; of none at all, NOT_MEASURED - silence is not a pass."""
    return max(statuses, key=_RANK.__getitem__, default=Status.NOT_MEASURED)


def bounded(
    gate: str,
    check: str,
    subject: str,
    *,
    value: float,
    lower: float | None = None,
    upper: float | None = None,
    unit: str,
    reason: str,
    message: str,
    hint: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Verdict:
    """Given a measured value and its bounds (inclusive), return PASS inside them, FAIL with `reason` outside."""
    inside = (lower is None or value >= lower) and (upper is None or value <= upper)
    return Verdict(
        gate,
        check,
        subject,
        Status.PASS if inside else Status.FAIL,
        "OK" if inside else reason,
        message,
        "" if inside else hint,
        value,
        lower,
        upper,
        unit,
        evidence or {},
    )
