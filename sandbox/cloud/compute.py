"""Virtual machines of the simulated Azure: what is checked before one is started."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from sandbox.cloud import sizes
from sandbox.cloud.refusal import Refusal
from sandbox.cloud.subscription import admit

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
MAX_CUSTOM_DATA = 87_380
"""64 KB of customData are 87,380 characters of base64."""


def virtual_machine(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check a VM's size, references and identities, and give it its vmId. Raise Refusal."""
    properties = resource["properties"]
    size_name = (properties.get("hardwareProfile") or {}).get("vmSize", "")
    size = size_of(size_name, resource["location"])
    references = (properties.get("networkProfile") or {}).get("networkInterfaces") or []
    if not references:
        raise Refusal(
            400, "InvalidParameter", "Required parameter 'networkProfile.networkInterfaces' is missing (null)."
        )
    for reference in [
        *references,
        *_optional(properties, "availabilitySet"),
        *_optional(properties, "virtualMachineScaleSet"),
    ]:
        if cloud.get(reference["id"]) is None:
            raise Refusal(404, "NotFound", f"Resource {reference['id']} not found.")
    _check_scale_set(cloud, properties, size)
    check_custom_data(cloud.secret(resource["id"]).get("customData", ""))
    attach_identities(cloud, resource)
    admit(cloud, resource["location"], size_name, size, 0 if before else 1)
    properties["vmId"] = (before or {"properties": {}})["properties"].get("vmId") or str(uuid.uuid4())
    return []


def size_of(name: str, location: str) -> sizes.VmSize:
    """Given a size's name, return the size. Raise Refusal when it is not to be had."""
    size = sizes.find(name)
    if size is None:
        raise Refusal(
            409,
            "SkuNotAvailable",
            f"The requested VM size {name!r} is currently not available in location '{location}' "
            "for subscription: it is not in sandbox/cloud/sizes.py.",
        )
    return size


def _optional(properties: Resource, key: str) -> list[Resource]:
    reference = properties.get(key)
    return [reference] if reference else []


def _check_scale_set(cloud: Cloud, properties: Resource, size: sizes.VmSize) -> None:
    for reference in _optional(properties, "virtualMachineScaleSet"):
        scale_set = cloud.get(reference["id"]) or {"properties": {}}
        if size.rdma and scale_set["properties"].get("orchestrationMode") == "Flexible":
            raise Refusal(
                409,
                "OperationNotAllowed",
                "RDMA capable VM sizes need an availability set or a Uniform scale set with a single placement group.",
            )


def check_custom_data(custom: str) -> None:
    """Given customData in base64, raise Refusal above Azure's limit."""
    if len(custom) > MAX_CUSTOM_DATA:
        raise Refusal(
            400,
            "InvalidParameter",
            "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.",
        )


def attach_identities(cloud: Cloud, resource: Resource) -> None:
    """User-assigned identities come as a map of ids; ARM answers with each one's client and principal id."""
    identity = resource.get("identity")
    if not identity:
        return
    for rid in list(identity.get("userAssignedIdentities") or {}):
        found = cloud.get(rid)
        if found is None:
            raise Refusal(400, "FailedIdentityOperation", f"Resource '{rid}' was not found.")
        identity["userAssignedIdentities"][rid] = {key: found["properties"][key] for key in ("clientId", "principalId")}
