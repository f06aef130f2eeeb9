"""Virtual machines, alone or as instances of a Uniform scale set, seen as one kind of thing."""

from __future__ import annotations

from typing import Any, Protocol

VM = "Microsoft.Compute/virtualMachines"
SCALE_SET = "Microsoft.Compute/virtualMachineScaleSets"
INSTANCE = f"{SCALE_SET}/virtualMachines"
INSTANCE_NIC = f"{INSTANCE}/networkInterfaces"
BOOT_TAG = "sandbox-boot"
"""`off` = the machine is declared and never started. Azure has no such tag; it costs nothing there."""

Resource = dict[str, Any]


class Listing(Protocol):
    """The reading half of a cloud."""

    def list(self, type: str | None = None) -> list[Resource]: ...


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


def as_node(machine: Resource) -> Resource:
    """Given a VM or an instance, return it under its node's name: as whoever runs machines wants it."""
    return {**machine, "name": node_name(machine)}


def boots(machine: Resource) -> bool:
    """Return whether the machine is to be started at all."""
    return str((machine.get("tags") or {}).get(BOOT_TAG, "")).lower() != "off"


def model_id(machine: Resource) -> str:
    """Given a VM or an instance, return the id under which what is never answered (customData) was kept."""
    rid = str(machine["id"])
    return rid if machine["type"] == VM else rid.rsplit("/virtualMachines/", 1)[0]
