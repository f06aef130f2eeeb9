"""What a rule is: a pure function over one resource or over the stack, with its id, reason and fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Resource:
    """A resource as a stack rule sees it: its type (`storage:StorageAccount`), name and properties."""

    type: str
    name: str
    properties: Properties


@dataclass(frozen=True)
class Rule:
    """A rule on single resources. `check` returns what is wrong, one sentence each; nothing wrong is an empty list.

    `types` are azure-native types without provider (`storage:StorageAccount`). `level` is `mandatory` or `advisory`.
    """

    id: str
    types: tuple[str, ...]
    reason: str
    fix: str
    check: Callable[[Properties], Iterable[str]]
    level: str = "mandatory"


@dataclass(frozen=True)
class StackRule:
    """A rule on the whole stack: `check` gets every resource and returns (resource name, what is wrong)."""

    id: str
    reason: str
    fix: str
    check: Callable[[list[Resource]], Iterable[tuple[str, str]]]
    level: str = "mandatory"


def short(token: str) -> str:
    """Given a resource token in any of azure-native's forms, return `service:Type`.

    `azure-native:storage:StorageAccount`, `azure-native:storage/v20240101:StorageAccount` and the explicit-version
    SDKs' `azure-native_storage_v20240101:storage/v20240101:StorageAccount` are the same thing. Other providers
    return "".
    """
    provider, _, rest = token.partition(":")
    if not provider.startswith("azure-native"):
        return ""
    service, _, kind = rest.rpartition(":")
    return f"{service.split('/')[0].split(':')[-1]}:{kind}"
