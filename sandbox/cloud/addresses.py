"""Private addresses: who has which, and who gets the next."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sandbox.cloud.machines import INSTANCE_NIC
from sandbox.cloud.refusal import Refusal

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
NIC = "Microsoft.Network/networkInterfaces"
RESERVED = 4
"""Azure keeps the first four addresses of a subnet (network, gateway, two for DNS) and the last."""


def interfaces(cloud: Cloud) -> list[Resource]:
    """Given a cloud, return every interface: of VMs, of private endpoints, of a scale set's instances."""
    return [*cloud.list(NIC), *cloud.list(INSTANCE_NIC)]


def network_of(prefix: str) -> ipaddress.IPv4Network:
    """Given an address prefix, return the network. Raise Refusal if it is none."""
    try:
        return ipaddress.IPv4Network(prefix)
    except ValueError as error:
        raise Refusal(400, "InvalidCIDRNotation", f"The address prefix {prefix!r} is not valid: {error}.") from error


def prefix_of(subnet: Resource) -> ipaddress.IPv4Network:
    """Given a subnet, return its network. Raise Refusal if its prefix is none."""
    properties = subnet["properties"]
    return network_of(properties.get("addressPrefix") or (properties.get("addressPrefixes") or [""])[0])


def allot(cloud: Cloud, subnet_id: str, wanted: str | None, owner: str) -> str:
    """Given a subnet, the interface that asks and the address it wants (or None), return its address. Raise Refusal."""
    if wanted is None:
        return next(free(cloud, subnet_id, owner))
    space, taken = prefix_of(_subnet(cloud, subnet_id, owner)), _taken(cloud, owner)
    if ipaddress.IPv4Address(wanted) not in space:
        raise Refusal(
            400,
            "PrivateIPAddressNotInSubnet",
            f"Private static IP address {wanted} does not belong to the range of subnet prefix {space}.",
        )
    if wanted in taken:
        raise Refusal(
            400,
            "PrivateIPAddressIsAllocated",
            f"IP configuration of {owner} is using the private IP address {wanted} "
            f"which is already allocated to {taken[wanted]}.",
        )
    return wanted


def free(cloud: Cloud, subnet_id: str, owner: str) -> Iterator[str]:
    """Given a subnet and who asks, yield its free addresses, lowest first. Raise Refusal when no more is left."""
    found = _subnet(cloud, subnet_id, owner)
    space, taken = prefix_of(found), _taken(cloud, owner)
    for number in range(RESERVED, space.num_addresses - 1):
        if (address := str(space[number])) not in taken:
            yield address
    raise Refusal(
        400, "SubnetIsFull", f"Subnet {found['name']} with address prefix {space} does not have enough capacity."
    )


def _taken(cloud: Cloud, owner: str) -> dict[str | None, str]:
    return {
        configuration["properties"].get("privateIPAddress"): nic["id"]
        for nic in interfaces(cloud)
        for configuration in nic["properties"].get("ipConfigurations") or []
        if nic["id"].lower() != owner.lower()
    }


def _subnet(cloud: Cloud, subnet_id: str, owner: str) -> Resource:
    found = cloud.get(subnet_id)
    if found is None:
        raise Refusal(
            400, "InvalidResourceReference", f"Resource {subnet_id or 'subnet'} referenced by {owner} was not found."
        )
    return found
