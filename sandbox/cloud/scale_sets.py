"""Uniform virtual machine scale sets: what ARM checks, and the instances that a capacity means.

Sources, read 2026-12-01: Microsoft Learn, "Orchestration modes", "Working with large virtual machine scale sets" (a
single placement group takes 100 VMs), "Understand instance IDs" (names are `{set}_{id}`, the computer name is the
prefix and the id in base 36, six digits), "Modify a scale set" (Manual: a changed model reaches an instance when it is
upgraded, its customData when it is reimaged). Azure may give an id again; here each is given once, so that nobody takes
a new machine for the old one. Surplus instances of overprovisioning are not simulated.
"""

from __future__ import annotations

import copy
import hashlib
import json
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sandbox.cloud import addresses, sizes
from sandbox.cloud.compute import admit, attach_identities, check_custom_data, size_of
from sandbox.cloud.machines import INSTANCE, INSTANCE_NIC
from sandbox.cloud.refusal import Refusal

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
ONE_GROUP = 300
"""100 by default; the simulated subscription has been granted the 300 that Microsoft gives on request."""
MANY_GROUPS = 1000
MAX_PREFIX = 58
"""What Linux host names leave for computerNamePrefix (REST reference of VirtualMachineScaleSetOSProfile)."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def scale_set(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check a scale set; return the instances and interfaces that its capacity lacks, and those it changes. Raise
    Refusal in Azure's words."""
    properties = resource["properties"]
    mode = properties.setdefault("orchestrationMode", "Uniform")
    name = str((resource.get("sku") or {}).get("name") or "")
    if mode == "Flexible" and not name:
        attach_identities(cloud, resource)
        return []  # a set that VMs are put into one by one
    size = size_of(name, resource["location"])
    _check_mode(resource, before, size)
    properties["uniqueId"] = (before or {"properties": {}})["properties"].get("uniqueId") or str(uuid.uuid4())
    check_custom_data(cloud.secret(resource["id"]).get("customData", ""))
    attach_identities(cloud, resource)
    if mode == "Flexible":
        return []
    _check_profile(resource)
    there = instances(cloud, resource["id"])
    missing = max(0, _capacity(resource) - len(there))
    admit(cloud, resource["location"], name, size, missing)
    return [*_refreshed(cloud, resource, there), *_made(cloud, resource, missing)]


def instances(cloud: Cloud, owner: str) -> list[Resource]:
    """Given a scale set's id, return its instances in the order of their ids."""
    found = [r for r in cloud.below(owner) if r["type"] == INSTANCE]
    return sorted(found, key=lambda r: int(r["instanceId"]))


def divide(cloud: Cloud, owner: Resource) -> tuple[list[Resource], list[Resource]]:
    """Given a scale set, return (the instances its capacity wants, the surplus: the highest ids).

    The surplus is still there: whoever runs the machines stops them first.
    """
    if owner["properties"].get("orchestrationMode") != "Uniform":
        return [], []
    there, capacity = instances(cloud, owner["id"]), _capacity(owner)
    return there[:capacity], there[capacity:]


def chosen(cloud: Cloud, owner: Resource, ids: Any, *, required: bool = False) -> list[Resource]:
    """Given a scale set and `instanceIds` of a request (none or `*` = all), return those instances. Raise Refusal."""
    if required and not ids:
        raise Refusal(400, "InvalidParameter", "Required parameter 'instanceIds' is missing (null).")
    known = {one["instanceId"]: one for one in instances(cloud, owner["id"])}
    if not ids or "*" in ids:
        return list(known.values())
    for number in ids:
        if str(number) not in known:
            raise Refusal(
                400,
                "InvalidParameter",
                f"The provided instanceId {number} is not an active Virtual Machine Scale Set VM instanceId.",
            )
    return [known[str(number)] for number in ids]


def remove(cloud: Cloud, doomed: list[Resource]) -> None:
    """Given instances of one scale set, remove them with their interfaces; they are not made again: the capacity goes
    down with them. Raise Refusal where a lock holds one."""
    for one in doomed:
        cloud.delete(one["id"])
    owner = cloud.get(doomed[0]["id"].rsplit("/virtualMachines/", 1)[0]) if doomed else None
    if owner is not None:
        left = len(instances(cloud, owner["id"]))
        cloud.write([{**owner, "sku": {**owner["sku"], "capacity": min(left, _capacity(owner))}}])


def upgrade(cloud: Cloud, owner: Resource, those: list[Resource]) -> None:
    """Given instances of a scale set, bring them to its present model (`manualupgrade`); their ids and addresses
    stay."""
    mark = _mark(cloud, owner)
    for one in those:
        fresh = _instance(owner, one["instanceId"])
        kept = {key: one["properties"][key] for key in ("vmId", "provisioningState", "networkProfile")}
        one |= {**fresh, "properties": {**fresh["properties"], **kept}}
        cloud.hide(one["id"], {"model": mark})
    cloud.write(those)


def _check_mode(resource: Resource, before: Resource | None, size: sizes.VmSize) -> None:
    properties, sku = resource["properties"], resource["sku"]
    single = properties.get("singlePlacementGroup")
    if properties["orchestrationMode"] == "Flexible":
        if size.rdma:
            raise Refusal(
                409,
                "OperationNotAllowed",
                "RDMA capable VM sizes need an availability set or a Uniform scale set with a single placement group.",
            )
        if single:
            raise _invalid(
                "The value 'True' of parameter 'singlePlacementGroup' is not allowed. Allowed values are: False."
            )
    elif single is None:
        single = properties["singlePlacementGroup"] = (before or {"properties": {}})["properties"].get(
            "singlePlacementGroup", True
        )
    if single and before is not None and before["properties"].get("singlePlacementGroup") is False:
        raise _invalid("singlePlacementGroup cannot be changed from false to true on an existing scale set.")
    capacity, most = sku.get("capacity"), ONE_GROUP if single else MANY_GROUPS
    if not isinstance(capacity, int) or capacity < 0:
        raise _invalid(f"The value '{capacity}' of parameter 'sku.capacity' is invalid.")
    if capacity > most:
        # The text as Azure gives it: github.com/ansible/ansible/issues/58220.
        raise Refusal(
            409,
            "OperationNotAllowed",
            f"Unable to create or update Virtual Machine Scale Set '{resource['name']}' as it exceeds the total limit "
            f"of '{most}' Virtual Machine instances.",
        )


def _check_profile(resource: Resource) -> None:
    properties = resource["properties"]
    profile = properties.get("virtualMachineProfile")
    if not profile:
        raise _missing("virtualMachineProfile")
    if not properties.get("upgradePolicy"):
        raise _missing("upgradePolicy")
    if not properties["upgradePolicy"].get("mode"):
        raise _missing("upgradePolicy.mode")
    configurations = (profile.get("networkProfile") or {}).get("networkInterfaceConfigurations") or []
    if not configurations or not all(c.get("properties", {}).get("ipConfigurations") for c in configurations):
        raise _missing("networkProfile.networkInterfaceConfigurations")
    system = profile.setdefault("osProfile", {})
    if len(system.setdefault("computerNamePrefix", resource["name"])) > MAX_PREFIX:
        raise _invalid(f"The computer name prefix must have at most {MAX_PREFIX} characters.")


def _refreshed(cloud: Cloud, owner: Resource, there: list[Resource]) -> list[Resource]:
    """Say which instances no longer have the set's model. Nothing else reaches them before they are upgraded, except
    tags."""
    mark, capacity = _mark(cloud, owner), _capacity(owner)
    for number, one in enumerate(there):
        one["tags"] = copy.deepcopy(owner.get("tags") or {})
        one["properties"]["latestModelApplied"] = cloud.secret(one["id"]).get("model") == mark
        if number >= capacity:
            one["properties"]["provisioningState"] = "Deleting"
    return there


def _made(cloud: Cloud, owner: Resource, count: int) -> list[Resource]:
    first = int(cloud.secret(owner["id"]).get("next", 0))
    found, pools = [], dict[str, Iterator[str]]()
    for number in range(first, first + count):
        one = _instance(owner, str(number))
        found += [one, *_interfaces(cloud, owner, one, pools)]
    mark = _mark(cloud, owner)
    for one in found:
        if one["type"] == INSTANCE:
            cloud.hide(one["id"], {"model": mark})
    cloud.hide(owner["id"], {"next": first + count})
    return found


def _instance(owner: Resource, number: str) -> Resource:
    rid = f"{owner['id']}/virtualMachines/{number}"
    profile = copy.deepcopy(owner["properties"]["virtualMachineProfile"])
    system, network = profile.get("osProfile") or {}, profile.get("networkProfile") or {}
    prefix = system.pop("computerNamePrefix")
    configurations = network.get("networkInterfaceConfigurations") or []
    references = [
        {
            "id": f"{rid}/networkInterfaces/{c['name']}",
            "properties": {"primary": c["properties"].get("primary", len(configurations) == 1)},
        }
        for c in configurations
    ]
    security = {"securityProfile": profile["securityProfile"]} if profile.get("securityProfile") else {}
    return {
        "id": rid,
        "name": f"{owner['name']}_{number}",
        "type": INSTANCE,
        "instanceId": number,
        "location": owner.get("location"),
        "tags": copy.deepcopy(owner.get("tags") or {}),
        "sku": {key: value for key, value in owner["sku"].items() if key != "capacity"},
        **({"identity": copy.deepcopy(owner["identity"])} if owner.get("identity") else {}),
        "properties": {
            "latestModelApplied": True,
            "modelDefinitionApplied": "VirtualMachineScaleSet",
            "vmId": str(uuid.uuid4()),
            "hardwareProfile": {},
            "osProfile": {**system, "computerName": f"{prefix}{_base36(int(number))}"},
            "storageProfile": profile.get("storageProfile") or {},
            **security,
            "networkProfile": {"networkInterfaces": references},
            "networkProfileConfiguration": {"networkInterfaceConfigurations": configurations},
            "provisioningState": "Creating",
        },
    }


def _interfaces(cloud: Cloud, owner: Resource, one: Resource, pools: dict[str, Iterator[str]]) -> Iterator[Resource]:
    """Make an instance's interfaces; `pools` are the subnets' free addresses, each given once."""
    for configuration in one["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"]:
        inner = copy.deepcopy(configuration["properties"])
        for each in inner["ipConfigurations"]:
            subnet = (each["properties"].get("subnet") or {}).get("id", "")
            pool = pools.setdefault(subnet.lower(), addresses.free(cloud, subnet, owner["id"]))
            each["properties"] |= {"privateIPAddress": next(pool), "privateIPAllocationMethod": "Dynamic"}
        inner.setdefault("primary", True)
        yield {
            "id": f"{one['id']}/networkInterfaces/{configuration['name']}",
            "name": configuration["name"],
            "type": INSTANCE_NIC,
            "location": one["location"],
            "properties": {**inner, "virtualMachine": {"id": one["id"]}, "provisioningState": "Succeeded"},
        }


def _mark(cloud: Cloud, owner: Resource) -> str:
    """What tells one model of the set from another."""
    parts = [
        owner["properties"].get("virtualMachineProfile"),
        owner["sku"].get("name"),
        sorted((owner.get("identity") or {}).get("userAssignedIdentities") or {}),
        cloud.secret(owner["id"]).get("customData"),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _capacity(owner: Resource) -> int:
    return int((owner.get("sku") or {}).get("capacity") or 0)


def _base36(number: int) -> str:
    text = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text


def _missing(parameter: str) -> Refusal:
    return _invalid(f"Required parameter '{parameter}' is missing (null).")


def _invalid(message: str) -> Refusal:
    return Refusal(400, "InvalidParameter", message)
