"""Typed values from JSON or YAML values, with every mistake told at once: the one reader of settings and contract."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

Check = Callable[[Any], str]
Name = Callable[[str], str]

BIGGEST = 1e300
"""Any number of this size is a mistake; a double ends at 1.8e308."""

LONGEST_KEY = 60


class _Short(reprlib.Repr):
    """repr() for one line of a terminal: short, printable, and of a value of any size or depth."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 3, 80, 80, 80

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to write out more than 4,300 digits."""
        if x.bit_length() > 256:
            return f"a whole number of {x.bit_length()} bits"
        return super().repr_int(x, level)


shown = _Short().repr
"""Given any value, return how an error shows it."""


def key(doc: str, example: Any, check: Check | None = None, default: Any = MISSING) -> Any:
    """Describe one key: what it means, an example, and a check that returns "" or what is wrong with a value."""
    facts = {"doc": doc, "example": example, "check": check}
    return field(metadata=facts) if default is MISSING else field(default=default, metadata=facts)


def build(kind: Any, raw: Any, problems: list[str], *, path: str = "", name: Name = str) -> Any:
    """Given a type and a raw value, return the typed value, or None after adding to `problems`.

    `path` is where the value stands (`nodes.count`), `name` how such a path is shown to people. A dataclass's field
    without a default must be there; unknown keys are refused with the nearest known one.
    """
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, raw, problems, path, name)
    if get_origin(kind) is tuple:
        if not isinstance(raw, (list, tuple)):
            problems.append(f"{name(path)}: expected a list, got {shown(raw)}")
            return None
        inner = get_args(kind)[0]
        return tuple(build(inner, item, problems, path=f"{path}[{i}]", name=name) for i, item in enumerate(raw))
    if type(None) in get_args(kind):
        inner = next(arg for arg in get_args(kind) if arg is not type(None))
        return None if raw is None else build(inner, raw, problems, path=path, name=name)
    if _fits(kind, raw):
        return kind(raw) if kind in (int, float) else raw
    problems.append(f"{name(path)}: {shown(raw)} is not {_KINDS.get(kind, 'a mapping')}")
    return None


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _dataclass(kind: type, raw: Any, problems: list[str], path: str, name: Name) -> Any:
    if not isinstance(raw, Mapping):
        problems.append(f"{name(path) or 'the whole'}: expected a mapping, got {shown(raw)}")
        return None
    hints, known = get_type_hints(kind), {f.name: f for f in fields(kind)}
    for extra in raw:
        if extra not in known:
            near = difflib.get_close_matches(extra, known, 1) if isinstance(extra, str) else []
            problems.append(f"{name(_join(path, extra))}: unknown key" + (f" (hint: {near[0]}?)" if near else ""))
    values: dict[str, Any] = {}
    start = len(problems)
    for field_name, facts in known.items():
        where = _join(path, field_name)
        if field_name not in raw:
            if facts.default is MISSING:
                example = facts.metadata.get("example")
                problems.append(f"{name(where)}: missing" + (f" (example: {example})" if example is not None else ""))
            continue
        before = len(problems)
        value = build(hints[field_name], raw[field_name], problems, path=where, name=name)
        check = facts.metadata.get("check")
        told = check(value) if check and len(problems) == before else ""
        if told:
            problems.append(f"{name(where)}: {shown(value)} {told}")
        values[field_name] = value
    return kind(**values) if len(problems) == start else None


def _fits(kind: Any, raw: Any) -> bool:
    if kind is bool:
        return isinstance(raw, bool)
    if isinstance(raw, bool):
        return False
    if kind is int:
        # Pulumi carries every number as a double: 8.0 is the whole number 8.
        return isinstance(raw, int) or (isinstance(raw, float) and raw.is_integer())
    if kind is float:
        # Not NaN, which no bound refuses for certain, and nothing that no double holds.
        return isinstance(raw, (int, float)) and abs(raw) < BIGGEST
    return isinstance(raw, str if kind is str else Mapping)


def _join(path: str, last: object) -> str:
    plain = isinstance(last, str) and last.isprintable() and 0 < len(last) <= LONGEST_KEY
    text = last if plain else shown(last)
    return f"{path}.{text}" if path else str(text)
