"""Uniform virtual machine scale sets: what ARM checks, and the instances that a capacity means.

Source: Microsoft Learn, "Orchestration modes for virtual machine scale sets", "Working with large virtual machine scale
sets" (a single placement group takes 100 VMs) and "Understand instance IDs" (computer name = prefix + the id in base
36, six digits; ids are not reused), read 2026-12-01.
"""

from __future__ import annotations

import copy
import uuid
from typing import TYPE_CHECKING, Any

from sandbox.cloud import network, sizes
from sandbox.cloud.compute import attach_identities, check_custom_data
from sandbox.cloud.machines import INSTANCE, SCALE_SET
from sandbox.cloud.refusal import Refusal

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
ONE_GROUP = 300
"""100 by default; the simulated subscription has been granted the 300 that Microsoft gives on request."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def scale_set(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check a scale set. Raise Refusal in Azure's words."""
    properties, sku = resource["properties"], resource.get("sku") or {}
    size = sizes.find(str(sku.get("name", "")))
    if size is None:
        raise Refusal(
            409,
            "SkuNotAvailable",
            f"The requested VM size {sku.get('name')!r} is currently not available in location "
            f"'{resource['location']}' for subscription: it is not in sandbox/cloud/sizes.py.",
        )
    mode = properties.get("orchestrationMode", "Uniform")
    if mode == "Flexible" and size.rdma:
        raise Refusal(
            409,
            "OperationNotAllowed",
            "RDMA capable VM sizes need an availability set or a Uniform scale set with a single placement group.",
        )
    spread = before is not None and before["properties"].get("singlePlacementGroup") is False
    if spread and properties.get("singlePlacementGroup"):
        raise Refusal(
            400,
            "InvalidParameter",
            "singlePlacementGroup cannot be changed from false to true on an existing scale set.",
        )
    capacity = int(sku.get("capacity") or 0)
    if mode == "Uniform" and properties.get("singlePlacementGroup", True) and capacity > ONE_GROUP:
        raise Refusal(
            400,
            "VmssSinglePlacementGroupInstanceCountExceeded",
            f"A scale set with a single placement group takes at most {ONE_GROUP} instances, not {capacity}.",
        )
    profile = properties.get("virtualMachineProfile") or {}
    if mode == "Uniform" and not (profile.get("networkProfile") or {}).get("networkInterfaceConfigurations"):
        raise Refusal(
            400,
            "InvalidParameter",
            "Required parameter 'networkProfile.networkInterfaceConfigurations' is missing (null).",
        )
    check_custom_data(cloud.secret(resource["id"]).get("customData", ""))
    attach_identities(cloud, resource)
    properties["uniqueId"] = (before or {"properties": {}})["properties"].get("uniqueId") or str(uuid.uuid4())
    return []


def instance(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Name an instance as Azure does: the set's name and its id."""
    owner, _, number = str(resource["id"]).rpartition("/virtualMachines/")
    resource["name"] = f"{owner.rsplit('/', 1)[-1]}_{number}"
    return []


def instances(cloud: Cloud, owner: str) -> list[Resource]:
    """Given a scale set's id, return its instances in the order of their ids."""
    found = [r for r in cloud.below(owner) if r["type"] == INSTANCE]
    return sorted(found, key=lambda r: int(r["instanceId"]))


def reconcile(cloud: Cloud, owner: Resource) -> tuple[list[Resource], list[Resource]]:
    """Given a scale set as it is wanted, make the instances that are missing; return (all that are wanted, the
    surplus).

    The surplus - the highest ids - is still there: whoever runs the machines stops them first.
    """
    if owner["properties"].get("orchestrationMode", "Uniform") != "Uniform":
        return [], []
    there = instances(cloud, owner["id"])
    capacity = int((owner.get("sku") or {}).get("capacity") or 0)
    made = [_make(cloud, owner, cloud.next_number(owner["id"])) for _ in range(capacity - len(there))]
    return [*there[:capacity], *made], there[capacity:]


def forget(cloud: Cloud, doomed: Resource) -> None:
    """Given an instance whose machine is gone, remove it and its interfaces."""
    cloud.delete(doomed["id"])


def _make(cloud: Cloud, owner: Resource, number: int) -> Resource:
    rid = f"{owner['id']}/virtualMachines/{number}"
    profile = copy.deepcopy(owner["properties"].get("virtualMachineProfile") or {})
    system = profile.get("osProfile") or {}
    prefix = system.pop("computerNamePrefix", "vm")
    configurations = (profile.get("networkProfile") or {}).get("networkInterfaceConfigurations") or []
    interfaces = [
        {"id": f"{rid}/networkInterfaces/{c['name']}", "properties": {"primary": True}} for c in configurations
    ]
    body = {
        "instanceId": str(number),
        "location": owner.get("location"),
        "tags": owner.get("tags") or {},
        "sku": {key: value for key, value in (owner.get("sku") or {}).items() if key != "capacity"},
        "identity": copy.deepcopy(owner.get("identity")),
        "properties": {
            "latestModelApplied": True,
            "vmId": str(uuid.uuid4()),
            "hardwareProfile": {"vmSize": owner["sku"]["name"]},
            "osProfile": {**system, "computerName": f"{prefix}{_base36(number)}"},
            "storageProfile": profile.get("storageProfile") or {},
            "securityProfile": profile.get("securityProfile"),
            "networkProfile": {"networkInterfaces": interfaces},
            "provisioningState": "Creating",
        },
    }
    made = cloud.put(rid, body)
    for configuration in configurations:
        inner = configuration.get("properties", configuration)
        nic = {
            "properties": {
                "primary": inner.get("primary", True),
                "virtualMachine": {"id": rid},
                "ipConfigurations": copy.deepcopy(inner.get("ipConfigurations") or []),
            }
        }
        cloud.put(f"{rid}/networkInterfaces/{configuration['name']}", nic)
    return made


def interface(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Give an instance's interface its addresses, as one of a VM gets them."""
    return network.interface(cloud, resource, before)


def _base36(number: int) -> str:
    text = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text


__all__ = ["SCALE_SET", "forget", "instance", "instances", "interface", "reconcile", "scale_set"]
