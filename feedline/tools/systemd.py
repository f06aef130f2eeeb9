"""systemctl: a unit's state, as properties and not as text for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """`active` is ActiveState (`unknown` when systemd did not say), `invocation` the id of this very start, `enabled`
    whether it starts at boot."""

    active: str
    main_pid: int | None
    invocation: str
    enabled: bool


def show(unit: str) -> tuple[str, ...]:
    """Given a unit, return the argv that shows what `parse` reads."""
    return ("systemctl", "show", unit, "--property=ActiveState,MainPID,InvocationID,UnitFileState")


def parse(text: str) -> Unit:
    """Given what `show` printed, return the unit's state; MainPID 0 means that there is none."""
    state = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    pid = state.get("MainPID", "")
    return Unit(
        state.get("ActiveState") or "unknown",
        int(pid) if pid.isdigit() and pid != "0" else None,
        state.get("InvocationID", ""),
        state.get("UnitFileState") == "enabled",
    )
