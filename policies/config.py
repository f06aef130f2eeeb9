"""The pack's configuration, as Pulumi takes it (`--policy-pack-config`): level and parameters by rule."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from feedline.errors import SettingsError
from policies.judge import ABOUT_EXCEPTIONS
from policies.rule import Parameter
from policies.rules import ALL, BY_ID

LEVELS = ("advisory", "mandatory", "disabled")
_LEVEL = "enforcementLevel"


@dataclass(frozen=True)
class Configuration:
    """What a configuration says: the level of every rule, and the parameters that it sets."""

    levels: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def parse(document: Any, *, where: str = "") -> Configuration:
    """Given the configuration's JSON value, return it. Raise SettingsError with every problem.

    Pulumi's engine checks types and levels itself; it does not know that some rules are never switched off.
    """
    if not isinstance(document, Mapping):
        raise SettingsError(["it is not a JSON object with a rule per key"], where=where)
    levels = {rule.id: rule.level for rule in ALL} | {name: about[0] for name, about in ABOUT_EXCEPTIONS.items()}
    if "all" in document:
        levels = dict.fromkeys(levels, _split(document["all"])[0] or "")
    values, problems = {}, []
    for name, entry in document.items():
        level, told = _split(entry)
        if name != "all" and name not in levels:
            near = difflib.get_close_matches(name, levels, 1)
            problems.append(f"{name}: no such rule" + (f" (hint: {near[0]})" if near else ""))
            continue
        if level is not None and level not in LEVELS:
            problems.append(f"{name}: level {level!r} is not one of {', '.join(LEVELS)}")
        elif level is not None and name != "all":
            levels[name] = level
        problems += _wrong(name, told)
        values[name] = told
    problems += [
        f"{rule.id}: may be lowered to advisory, not disabled (one account: policies/exceptions.toml)"
        for rule in ALL
        if rule.never_off and levels[rule.id] == "disabled"
    ]
    if problems:
        raise SettingsError(problems, where=where)
    return Configuration(levels, values)


def _split(entry: Any) -> tuple[str | None, Mapping[str, Any]]:
    if isinstance(entry, Mapping):
        return entry.get(_LEVEL), {key: value for key, value in entry.items() if key != _LEVEL}
    return str(entry), {}


def _wrong(name: str, told: Mapping[str, Any]) -> Iterator[str]:
    known = {parameter.name: parameter for parameter in BY_ID[name].parameters} if name in BY_ID else {}
    for key, value in told.items():
        if key not in known:
            yield f"{name}.{key}: no such parameter ({', '.join(known) or 'it has none'})"
        elif not _fits(known[key], value):
            kind = "a list of texts" if isinstance(known[key].default, list) else "a number, 0 or more"
            yield f"{name}.{key}: {value!r} is not {kind}"


def _fits(parameter: Parameter, value: Any) -> bool:
    if isinstance(parameter.default, list):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
