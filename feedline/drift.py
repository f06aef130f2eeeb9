"""What somebody changed in Azure behind Pulumi's back: read from the engine's events of a refresh that changes nothing.

The events are those of `PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 pulumi refresh --preview-only --json`. It compares Azure
with the state of the last `up`, so a change of the program that is not applied yet is no drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

GONE, CHANGED = "gone", "changed"


@dataclass(frozen=True)
class Drifted:
    """A resource that is not what it was: `how` is `gone` or `changed`, `keys` the inputs that changed."""

    how: str
    type: str
    name: str
    keys: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"how": self.how, "type": self.type, "name": self.name, "keys": list(self.keys)}


@dataclass
class Drift:
    """What a refresh found: `drifted`; `looked` = how many resources Azure was asked about; `errors` in the engine's
    words; `result` of the whole."""

    drifted: list[Drifted] = field(default_factory=list)
    looked: int = 0
    errors: list[str] = field(default_factory=list)
    result: str = "it did not end"


def read(events: Iterable[Mapping[str, Any]]) -> Drift:
    """Given the engine's events, return what they say."""
    found = Drift()
    for event in events:
        if step := event.get("resOutputsEvent"):
            _step(found, step["metadata"])
        elif step := event.get("resourcePreEvent"):
            found.looked += str(step["metadata"]["type"]).startswith("azure-native:")
        elif (said := event.get("diagnosticEvent")) and said.get("severity") == "error":
            found.errors.append(said["message"].strip())
        elif end := event.get("summaryEvent"):
            found.result = end.get("result", found.result)
    found.drifted.sort(key=lambda one: (one.how != GONE, one.type, one.name))
    return found


def _step(found: Drift, metadata: Mapping[str, Any]) -> None:
    operation, details = metadata["op"], metadata.get("detailedDiff") or {}
    kind, name = str(metadata["type"]).removeprefix("azure-native:"), metadata["urn"].rsplit("::", 1)[1]
    if operation == "delete":
        found.drifted.append(Drifted(GONE, kind, name))
    elif operation == "update":
        keys = tuple(sorted(key for key, one in details.items() if one.get("inputDiff")))
        # What only Azure says of itself (a state, a time stamp) was declared by nobody.
        if keys or not details:
            found.drifted.append(Drifted(CHANGED, kind, name, keys))
