"""Virtual machines, alone or as instances of a Uniform scale set, seen as one kind of thing."""

from __future__ import annotations

import uuid
from typing import Any, Protocol

VM = "Microsoft.Compute/virtualMachines"
SCALE_SET = "Microsoft.Compute/virtualMachineScaleSets"
INSTANCE = f"{SCALE_SET}/virtualMachines"
INSTANCE_NIC = f"{INSTANCE}/networkInterfaces"
BOOT_TAG = "sandbox-boot"
"""`off` = the machine is declared and never started. Azure has no such tag; it costs nothing there."""

Resource = dict[str, Any]


class Listing(Protocol):
    """A cloud that lists."""

    def list(self, type: str | None = None) -> list[Resource]: ...


class Getting(Protocol):
    """A cloud that answers for one resource."""

    def get(self, rid: str) -> Resource | None: ...


def machines(cloud: Listing) -> list[Resource]:
    """Given a cloud, return every VM and every instance as ARM has it."""
    return [*cloud.list(VM), *cloud.list(INSTANCE)]


def is_machine(resource: Resource) -> bool:
    """Return whether the resource is a VM or an instance."""
    return resource["type"] in (VM, INSTANCE)


def node_name(machine: Resource) -> str:
    """Given a VM or an instance, return the name of its node: a VM's own, an instance's computer name."""
    if machine["type"] == VM:
        return str(machine["name"])
    return str(machine["properties"]["osProfile"]["computerName"]).lower()


def size_of(machine: Resource) -> str:
    """Given a VM or an instance, return its size: ARM writes an instance's as its sku and leaves hardwareProfile
    empty."""
    if machine["type"] == INSTANCE:
        return str((machine.get("sku") or {}).get("name", ""))
    return str((machine["properties"].get("hardwareProfile") or {}).get("vmSize", ""))


def as_node(machine: Resource) -> Resource:
    """Given a VM or an instance, return it as a VM under its node's name: as whoever runs machines wants it."""
    if machine["type"] == VM:
        return machine
    properties = {**machine["properties"], "hardwareProfile": {"vmSize": size_of(machine)}}
    return {**machine, "name": node_name(machine), "properties": properties}


def owner_id(machine: Resource) -> str:
    """Given an instance, return its scale set's id."""
    return str(machine["id"]).rsplit("/virtualMachines/", 1)[0]


def placement_group(cloud: Getting, machine: Resource) -> str:
    """Given an instance, return the id of its placement group (a VM alone has none): one for all instances if the set
    has a single one, else one per hundred."""
    if machine["type"] != INSTANCE:
        return ""
    owner = cloud.get(owner_id(machine)) or {"properties": {}}
    group = 0 if owner["properties"].get("singlePlacementGroup", True) else int(machine["instanceId"]) // 100
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{owner_id(machine).lower()}/{group}"))


def boots(machine: Resource) -> bool:
    """Return whether the machine is to be started at all."""
    return str((machine.get("tags") or {}).get(BOOT_TAG, "")).lower() != "off"


def model_id(machine: Resource) -> str:
    """Given a VM or an instance, return the id under which what is never answered (customData) was kept."""
    return str(machine["id"]) if machine["type"] == VM else owner_id(machine)
