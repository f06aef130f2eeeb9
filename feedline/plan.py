"""A plan is an ordered list of steps, each with its reason; commands are values here and are executed elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One change on a node: a command (`argv`), a file (`path` + `content`) or a folder (`path` alone). `why` is for
    people.

    `mode` is an octal file mode such as 0o644, `owner` is `user:group`. `destroys` names what the step wipes, if
    anything (`/dev/nvme0n1`): such a plan asks for the cluster's name before it runs.
    """

    why: str
    argv: tuple[str, ...] = ()
    path: str = ""
    content: str | None = None
    mode: int = 0o644
    owner: str = "root:root"
    destroys: str = ""
    timeout_s: float = 120.0

    @classmethod
    def run(cls, argv: Sequence[str], why: str, *, destroys: str = "", timeout_s: float = 120.0) -> Step:
        """Given an argv, return the step that runs it as root."""
        return cls(why, argv=tuple(argv), destroys=destroys, timeout_s=timeout_s)

    @classmethod
    def write(cls, path: str, content: str, why: str, *, mode: int = 0o644, owner: str = "root:root") -> Step:
        """Given a path and its content, return the step that writes it atomically."""
        return cls(why, path=path, content=content, mode=mode, owner=owner)

    @classmethod
    def folder(cls, path: str, why: str, *, mode: int = 0o755, owner: str = "root:root") -> Step:
        """Given a path, return the step that makes this folder (and its parents)."""
        return cls(why, path=path, mode=mode, owner=owner)

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Step:
        """Given what `as_dict` returned, return the step."""
        return cls(**{**raw, "argv": tuple(raw.get("argv", ()))})


@dataclass(frozen=True)
class Plan:
    """Steps in order, or - when nothing is needed - the reason why."""

    steps: tuple[Step, ...] = ()
    nothing_because: str = ""

    def __bool__(self) -> bool:
        return bool(self.steps)

    @property
    def destroys(self) -> tuple[str, ...]:
        """What the plan wipes, in order."""
        return tuple(step.destroys for step in self.steps if step.destroys)

    @property
    def digest(self) -> str:
        """Identify the plan, so that what runs is what was shown and confirmed."""
        return hashlib.sha256(json.dumps([s.as_dict() for s in self.steps], sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        steps = [step.as_dict() for step in self.steps]
        return {"steps": steps, "nothing_because": self.nothing_because, "digest": self.digest}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Plan:
        """Given what `as_dict` returned, return the plan."""
        return cls(tuple(Step.from_dict(s) for s in raw["steps"]), raw.get("nothing_because", ""))
