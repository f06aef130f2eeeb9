"""Verb `boot`, run by feedline-nvme.service: mount the local NVMe, making its file system again when it came back
empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from feedline.plan import Plan
from feedline.plans.nvme import disk_steps
from node.apply import apply
from node.nvme import collect


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Plan as `fab nvme` does, without wiping anything, and apply. Raise OperationError for disks that are not blank
    and not ours."""
    facts = collect((request.get("options") or {}).get("cache_lun"))
    todo = Plan(tuple(disk_steps(facts)))
    applied = apply(todo, verb="boot", operator="systemd", progress=progress) if todo else []
    return {
        "facts": facts.as_dict(),
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": bool(applied),
        "verdicts": [],
        "measurements": {},
    }
