"""The instances of a Uniform scale set as nodes of the contract: pure reading of what ARM answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from feedline.contract import Contract, Node, ScaleSet
from feedline.errors import OperationError


def nodes_of(
    scale_set: ScaleSet, instances: Sequence[Mapping[str, Any]], interfaces: Sequence[Mapping[str, Any]]
) -> tuple[Node, ...]:
    """Given a scale set and ARM's lists of its instances and of their interfaces, return its nodes by instance id.

    Raise OperationError for an instance without an address: it is still being made, or failed.
    """
    addresses = {_owner(nic): _address(nic) for nic in interfaces}
    found, without = [], []
    for instance in sorted(instances, key=lambda one: int(one["instanceId"])):
        properties = instance["properties"]
        name = str(properties["osProfile"]["computerName"]).lower()
        address = addresses.get(str(instance["id"]).lower(), "")
        if not address:
            without.append(f"{name} ({properties.get('provisioningState', 'unknown')})")
            continue
        found.append(
            Node(
                name,
                scale_set.role,
                scale_set.identity,
                address,
                scale_set.size,
                instance["id"],
                properties.get("vmId", ""),
                scale_set.nvme_disks,
                scale_set.cache_lun,
            )
        )
    if without:
        raise OperationError(
            f"instances without an address: {', '.join(without)}",
            where=scale_set.resource_id,
            hint="wait until `pulumi up` has ended, or run it again: it makes only what is missing",
        )
    return tuple(found)


def with_nodes(contract: Contract, found: Mapping[str, tuple[Node, ...]]) -> Contract:
    """Given the contract and the nodes of each scale set by its name, return the contract with them: GPU nodes
    first."""
    nodes = [node for scale_set in contract.scale_sets for node in found[scale_set.name]]
    return replace(contract, nodes=(*nodes, *contract.nodes))


def _owner(nic: Mapping[str, Any]) -> str:
    return str((nic["properties"].get("virtualMachine") or {}).get("id", "")).lower()


def _address(nic: Mapping[str, Any]) -> str:
    for configuration in nic["properties"].get("ipConfigurations") or []:
        if address := configuration.get("properties", {}).get("privateIPAddress"):
            return str(address)
    return ""
