"""What a rule is: a pure function over one resource or over the stack, with its id, reason, fix and two examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

Properties = Mapping[str, Any]
Check = Callable[..., Iterable[str]]
"""(properties) or, for a rule with parameters, (properties, given): what is wrong, one sentence each."""
StackCheck = Callable[..., Iterable[tuple[str, str]]]
"""(resources) or (resources, given): (resource name or "" for the stack, what is wrong)."""


@dataclass(frozen=True)
class Resource:
    """A resource as a rule sees it: its type (`storage:StorageAccount`), name and properties.

    `depends` names, for each property, the URNs of the resources its value comes from: known when the value is not.
    """

    type: str
    name: str
    properties: Properties
    urn: str = ""
    depends: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """Something a rule can be told by configuration. The default's type is the parameter's: number, text list, text."""

    name: str
    says: str
    default: Any

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of it, as Pulumi checks a pack's configuration with."""
        found: dict[str, Any] = {"description": self.says, "default": self.default}
        if isinstance(self.default, list):
            return found | {"type": "array", "items": {"type": "string"}}
        return found | {"type": "number", "minimum": 0}


@dataclass(frozen=True)
class Given:
    """What a rule with parameters is given: the values by name, today, and whose stack it judges."""

    today: date
    stack: str = ""
    project: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Rule:
    """A rule on single resources. `types` are azure-native types without provider, or components of ours.

    `level` is `mandatory` or `advisory`; `never_off` says that configuration may lower it to advisory and no further.
    `passes` and `fails` are examples; `told` is the configuration they are shown under.
    """

    id: str
    types: tuple[str, ...]
    reason: str
    fix: str
    check: Check
    passes: Properties
    fails: Properties
    level: str = "mandatory"
    parameters: tuple[Parameter, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    never_off: bool = False

    def judge(self, properties: Properties, given: Given) -> list[str]:
        """Given a resource's properties, return what is wrong. What is unknown in preview raises, and is no pass."""
        return list(self.check(properties, given) if self.parameters else self.check(properties))


@dataclass(frozen=True)
class StackRule:
    """A rule on the whole stack, as `Rule` otherwise. Its examples are lists of resources."""

    id: str
    reason: str
    fix: str
    check: StackCheck
    passes: Sequence[Resource]
    fails: Sequence[Resource]
    level: str = "mandatory"
    parameters: tuple[Parameter, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    never_off: bool = False

    def judge(self, resources: Sequence[Resource], given: Given) -> Iterable[tuple[str, str]]:
        """Given every resource, yield (resource name, what is wrong). What is unknown in preview raises."""
        return self.check(resources, given) if self.parameters else self.check(resources)


def rule(id: str, types: tuple[str, ...], reason: str, fix: str, **more: Any) -> Callable[[Check], Rule]:
    """Make a check a Rule: `@rule("storage-tls", ACCOUNT, "why.", "fix", passes={…}, fails={…})`."""
    return lambda check: Rule(id, types, reason, fix, check, **more)


def stack_rule(id: str, reason: str, fix: str, **more: Any) -> Callable[[StackCheck], StackRule]:
    """Make a check over all resources a StackRule."""
    return lambda check: StackRule(id, reason, fix, check, **more)


def values(judged: Rule | StackRule, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Given a rule and its configuration, return the value of every parameter."""
    return {p.name: (config or {}).get(p.name, p.default) for p in judged.parameters}


def short(token: str) -> str:
    """Given a resource token in any of azure-native's forms, return `service:Type`.

    `azure-native:storage:StorageAccount`, `azure-native:storage/v20240101:StorageAccount` and the explicit-version
    SDKs' `azure-native_storage_v20240101:storage/v20240101:StorageAccount` are the same thing. Our own components keep
    their token (`feedline:feed:FeedPlan`); other providers return "".
    """
    provider, _, rest = token.partition(":")
    if provider == "feedline":
        return token
    if not provider.startswith("azure-native"):
        return ""
    service, _, kind = rest.rpartition(":")
    return f"{service.split('/')[0].split(':')[-1]}:{kind}"
