"""What changed between two sets of inputs, and whether that means another resource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.provider.model import Row

Properties = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """One changed property: its path as Pulumi writes it, `ADD`, `DELETE` or `UPDATE`, and whether it replaces."""

    path: str
    kind: str
    replaces: bool


def changes(row: Row, old: Properties, new: Properties, ignored: list[str]) -> list[Change]:
    """Given old and new inputs, return every changed leaf. `ignored` are paths of ignoreChanges."""
    fixed = {*row.path_inputs, *row.force}
    return [
        Change(path, kind, top in fixed)
        for top in sorted({*old, *new})
        if not top.startswith("__")
        for path, kind in _walk(top, old.get(top), new.get(top))
        if not any(path == i or path.startswith((f"{i}.", f"{i}[")) for i in ignored)
    ]


def _walk(path: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            inner = f"{path}.{key}" if key.replace("_", "").isalnum() else f'{path}["{key}"]'
            yield from _walk(inner, old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            yield from _walk(f"{path}[{index}]", before, after)
    else:
        yield path, "ADD" if old is None else "DELETE" if new is None else "UPDATE"
