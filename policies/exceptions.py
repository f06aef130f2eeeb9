"""Exceptions: one rule, one resource of one stack, with a reason, a person who approved it, and an end."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

MAX_DAYS = 366
"""How far ahead an exception may end: what is needed for longer is another rule."""
_TEXTS = ("rule", "stack", "resource", "reason", "approved_by")
FILE = "policies/exceptions.toml"


@dataclass(frozen=True)
class Accepted:
    """An exception. `resource` is the resource's Pulumi name; it holds on the day `expires` and not after it."""

    rule: str
    stack: str
    resource: str
    reason: str
    approved_by: str
    expires: date

    def __str__(self) -> str:
        return f"{self.rule} on {self.resource} is accepted until {self.expires} by {self.approved_by}: {self.reason}"


@dataclass(frozen=True)
class Register:
    """Every exception that is well formed, and what is wrong with the others: those suppress nothing."""

    accepted: tuple[Accepted, ...] = ()
    problems: tuple[str, ...] = ()

    def of(self, rule: str, stack: str, resource: str, today: date) -> Accepted | None:
        """Given a rule and a resource, return the exception that holds today, or None."""
        wanted = (rule, stack, resource)
        found = (e for e in self.accepted if (e.rule, e.stack, e.resource) == wanted and not _over(e, today))
        return next(found, None)

    def wrong(self, stack: str, names: Collection[str], today: date) -> Iterator[tuple[str, str]]:
        """Given a stack and its resources' names, yield (resource name or "", what is wrong with an exception)."""
        yield from (("", problem) for problem in self.problems)
        for found in self.accepted:
            if found.stack != stack:
                continue
            where = found.resource if found.resource in names else ""
            if found.expires < today:
                yield where, f"the exception from {found.rule} for {found.resource} expired on {found.expires}"
            elif _over(found, today):
                yield (
                    where,
                    f"the exception from {found.rule} for {found.resource} ends on {found.expires}: too far ahead",
                )
            elif not where:
                yield "", f"an exception from {found.rule} names {found.resource}, which is not in stack {stack}"

    def in_force(self, stack: str, used: Collection[Accepted], today: date) -> Iterator[tuple[str, str]]:
        """Given what was used in this run, yield (resource name, what is accepted and until when)."""
        for found in self.accepted:
            if found.stack == stack and not _over(found, today):
                unused = "" if found in used else " (it suppressed nothing in this run; is it still needed?)"
                yield found.resource, f"{found}{unused}"


def _over(found: Accepted, today: date) -> bool:
    return found.expires < today or found.expires > today + timedelta(days=MAX_DAYS)


def parse(text: str, rules: Collection[str]) -> Register:
    """Given exceptions.toml and the ids of every rule, return the register with every problem. Never raises."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Register(problems=(f"{FILE} cannot be read: {error}",))
    problems = [
        f"{FILE}: unknown key {key!r}; it holds [[exception]] tables only" for key in document if key != "exception"
    ]
    entries = document.get("exception", [])
    if not isinstance(entries, list):
        return Register(problems=(*problems, f"{FILE}: write [[exception]] with two brackets"))
    accepted: list[Accepted] = []
    for number, entry in enumerate(entries, 1):
        found = list(_wrong(entry, rules))
        made = None if found else _made(entry)
        if made and any(_same(made, other) for other in accepted):
            found.append("the same rule and resource have an exception already")
        elif made:
            accepted.append(made)
        problems += [f"{FILE}, exception {number} ({_name(entry)}): {problem}" for problem in found]
    return Register(tuple(accepted), tuple(problems))


def _wrong(entry: Any, rules: Collection[str]) -> Iterator[str]:
    if not isinstance(entry, Mapping):
        yield "is no table"
        return
    yield from _unknown(entry, (*_TEXTS, "expires"))
    for key in _TEXTS:
        value = entry.get(key)
        if not isinstance(value, str) or not value.strip():
            yield f"{key} is missing"
        elif "*" in value and key != "reason":
            yield f"{key} is {value!r}: an exception is for one {key}"
    if isinstance(entry.get("rule"), str) and entry["rule"].strip() and entry["rule"] not in rules:
        yield f"there is no rule {entry['rule']!r}"
    if _day(entry.get("expires")) is None:
        yield f"expires is {entry.get('expires', 'missing')}; write a day: 2027-01-31"


def _unknown(entry: Iterable[str], known: Collection[str]) -> Iterator[str]:
    yield from (f"unknown key {key!r}" for key in entry if key not in known)


def _day(value: Any) -> date | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _made(entry: Mapping[str, Any]) -> Accepted:
    day = _day(entry["expires"])
    assert day is not None  # _wrong found nothing
    rule, stack, resource, reason, approved_by = (str(entry[key]).strip() for key in _TEXTS)
    return Accepted(rule, stack, resource, reason, approved_by, day)


def _same(one: Accepted, other: Accepted) -> bool:
    return (one.rule, one.stack, one.resource) == (other.rule, other.stack, other.resource)


def _name(entry: Any) -> str:
    words = [entry.get("rule"), entry.get("resource")] if isinstance(entry, Mapping) else []
    return " on ".join(str(word) for word in words if word) or "nameless"
