"""Taking a node out of service: nothing may be lost that only this node has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from feedline.names import mount_unit
from feedline.plan import Plan, Step

STOP_S = 300.0


@dataclass(frozen=True)
class Drain:
    """What a node holds. `open_files` are paths on a mount with the program that has them open; `unsaved` are files in
    the cache of a writable mount that the store does not have in that size; `active` names the mounts whose unit runs;
    `physical_host` is the host's name, None where the hypervisor tells none."""

    open_files: tuple[str, ...]
    unsaved: tuple[str, ...]
    active: tuple[str, ...]
    physical_host: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return asdict(self)


def plan(facts: Drain) -> Plan:
    """Given the facts, return the steps that stop the mounts; none while something would be lost."""
    if facts.unsaved:
        return Plan(nothing_because=f"{len(facts.unsaved)} files are not in the store: nothing is stopped")
    if facts.open_files:
        return Plan(nothing_because=f"{len(facts.open_files)} files are open: nothing is stopped under a running job")
    if not facts.active:
        return Plan(nothing_because="no mount is active")
    why = "BlobFuse2 sends what it holds before it ends"
    stops = [
        Step.run(("systemctl", "stop", mount_unit(name)), f"unmount {name}: {why}", timeout_s=STOP_S)
        for name in facts.active
    ]
    return Plan(tuple(stops))
