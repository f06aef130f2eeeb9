"""A stack as `pulumi stack export` writes it, with its resources as rules see them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from feedline.errors import OperationError
from policies.rule import Resource, short

_SIGNATURE, _SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""How Pulumi marks a secret in a state. Source: pulumi/sdk/go/common/resource/sig.go."""


class NotKnown(Exception):
    """A rule read a value that this export hides. What is not known is never a pass."""


class _Hiding(Mapping[str, Any]):
    """A mapping that raises NotKnown when a secret in it is read."""

    def __init__(self, found: Mapping[str, Any], path: str = "") -> None:
        self._found, self._path = found, path

    def __getitem__(self, key: str) -> Any:
        return _shown(self._found[key], f"{self._path}.{key}".lstrip("."))

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _shown(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        if value.get(_SIGNATURE) != _SECRET:
            return _Hiding(value, path)
        if "plaintext" not in value:
            raise NotKnown(f"{path} is a secret in this export (hint: pulumi stack export --show-secrets)")
        return _shown(json.loads(value["plaintext"]), path)
    if isinstance(value, list):
        return [_shown(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


@dataclass(frozen=True)
class Stack:
    """An exported stack: its name, its project and the resources' states."""

    name: str
    project: str
    states: tuple[Mapping[str, Any], ...]

    @classmethod
    def parse(cls, document: Any) -> Stack:
        """Given the export's JSON value, return the stack. Raise OperationError when it is no export, or empty."""
        deployment = document.get("deployment") if isinstance(document, Mapping) else None
        if not isinstance(deployment, Mapping):
            raise OperationError("this is no export of a stack", hint="pulumi stack export --stack NAME")
        states = tuple(s for s in deployment.get("resources") or [] if not s.get("delete"))
        words = str(states[0]["urn"]).removeprefix("urn:pulumi:").split("::") if states else []
        if len(words) < 2:
            raise OperationError("the stack is empty: nothing to judge", hint="is this the right stack?")
        return cls(words[0], words[1], states)

    def resources(self) -> list[Resource]:
        """Return the resources that rules know. Judged is what was asked for: the inputs."""
        found = []
        for state in self.states:
            if kind := short(str(state["type"])):
                urn, inputs = str(state["urn"]), _Hiding(state.get("inputs") or state.get("outputs") or {})
                depends = state.get("propertyDependencies") or {}
                found.append(Resource(kind, urn.rsplit("::", 1)[-1], inputs, urn, depends))
        return found
