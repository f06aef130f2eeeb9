"""azure-native's flat properties and ARM's bodies, turned into each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sandbox.provider.model import BESIDE, NESTED, TOP_LEVEL, Row

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine writes a value that is not known yet."""

_SIGNATURE, _SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
Properties = dict[str, Any]


def plain(value: Any) -> Any:
    """Given a value off the wire, return it without secret envelopes and with whole numbers as integers."""
    if isinstance(value, Mapping):
        if value.get(_SIGNATURE) == _SECRET:
            return plain(value.get("value"))
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def has_unknown(value: Any) -> bool:
    """Return whether the value is, or holds, something not known yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return bool(value == UNKNOWN)


def resource_id(row: Row, inputs: Properties, subscription: str) -> str:
    """Given a row and complete inputs, return the resource's id."""
    values = {**{key: str(inputs[key]) for key in row.path_inputs}, "subscriptionId": subscription}
    path = re.sub(r"{(\w+)}", lambda match: values[match.group(1)].strip("/"), row.path)
    return "/" + path.strip("/")


def to_arm(row: Row, inputs: Properties) -> Properties:
    """Given inputs, return the ARM body: top-level keys as they are, the rest below `properties`."""
    body: Properties = {"properties": {}}
    for key, value in inputs.items():
        if key in row.path_inputs or key.startswith("__"):
            continue
        if key in TOP_LEVEL:
            body[key] = value
        else:
            body["properties"][key] = _nest(key, value)
    identity = body.get("identity")
    if isinstance(identity, dict) and isinstance(identity.get("userAssignedIdentities"), list):
        body["identity"] = {
            **identity,
            "userAssignedIdentities": {rid: {} for rid in identity["userAssignedIdentities"]},
        }
    return body


def from_arm(body: Mapping[str, Any]) -> Properties:
    """Given an ARM body, return the outputs: `properties` lifted out, nested ones too; identities stay a map."""
    outputs = {key: value for key, value in body.items() if key not in ("properties", "id")}
    for key, value in (body.get("properties") or {}).items():
        outputs.setdefault(key, _lift(key, value))
    return {**outputs, "azureApiVersion": "sandbox"}


def _nest(key: str, value: Any) -> Any:
    if isinstance(value, list) and key in NESTED:
        return [_nested_item(item) for item in value]
    if isinstance(value, dict):
        return {inner: _nest(inner, item) for inner, item in value.items()}
    return value


def _nested_item(item: Any) -> Any:
    if not isinstance(item, dict) or "properties" in item:
        return item
    inside = {key: _nest(key, value) for key, value in item.items() if key not in BESIDE}
    beside = {key: value for key, value in item.items() if key in BESIDE}
    return {**beside, "properties": inside} if inside else beside


def _lift(key: str, value: Any) -> Any:
    if isinstance(value, list) and key in NESTED:
        return [_lifted_item(item) for item in value]
    if isinstance(value, dict):
        return {inner: _lift(inner, item) for inner, item in value.items()}
    return value


def _lifted_item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    inside = {key: _lift(key, value) for key, value in (item.get("properties") or {}).items()}
    return {**inside, **{key: value for key, value in item.items() if key != "properties"}}


def drifted(inputs: Properties, outputs: Properties) -> Properties:
    """Given the inputs in state and the outputs now, return the inputs with what has drifted taken from the outputs.

    Only what was declared is compared; what ARM does not answer (customData) is kept.
    """
    found: Properties = {}
    for key, value in inputs.items():
        now = outputs.get(key)
        if key == "identity" and isinstance(now, dict) and isinstance(now.get("userAssignedIdentities"), dict):
            now = {**now, "userAssignedIdentities": list(now["userAssignedIdentities"])}
        if now is None:
            found[key] = value
        elif isinstance(value, dict) and isinstance(now, dict):
            found[key] = drifted(value, now)
        elif isinstance(value, list) and isinstance(now, list) and len(value) == len(now):
            pairs = zip(value, now, strict=True)
            found[key] = [drifted(a, b) if isinstance(a, dict) and isinstance(b, dict) else b for a, b in pairs]
        else:
            found[key] = now
    return found
