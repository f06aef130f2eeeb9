"""Where the cloud's resources put things on the fabric: pure reading of NICs, subnets and private endpoints."""

import ipaddress
from typing import Any, Protocol

from sandbox.nodes.network import Nic


class Getter(Protocol):
    """The reading half of a cloud."""

    def get(self, rid: str) -> dict[str, Any] | None: ...


def nic_of(cloud: Getter, vm: dict[str, Any], rate: int) -> Nic:
    """Given a VM, return its place on the fabric. Raise LookupError naming the reference that leads nowhere."""
    interfaces = vm["properties"].get("networkProfile", {}).get("networkInterfaces") or []
    if not interfaces:
        raise LookupError("the VM has no network interface (networkProfile.networkInterfaces)")
    nic = cloud.get(interfaces[0]["id"])
    if nic is None:
        raise LookupError(f"network interface {interfaces[0]['id']} does not exist")
    configuration = nic["properties"]["ipConfigurations"][0]["properties"]
    address = configuration.get("privateIPAddress")
    if not address:
        raise LookupError(f"network interface {nic['id']} has no privateIPAddress yet")
    network = ipaddress.ip_network(subnet_prefix(cloud, configuration["subnet"]["id"]))
    if ipaddress.ip_address(address) not in network:
        raise LookupError(f"address {address} of {nic['id']} is not in its subnet {network}")
    return Nic(address=address, prefix_length=network.prefixlen, gateway=str(network[1]), rate=rate)


def subnet_prefix(cloud: Getter, subnet_id: str) -> str:
    """Given a subnet's id, return its prefix, whether it was declared alone or inside its VNet. Raise LookupError."""
    subnet = cloud.get(subnet_id)
    if subnet is None:
        vnet = cloud.get(subnet_id.rsplit("/", 2)[0])
        name = subnet_id.rsplit("/", 1)[1].lower()
        subnet = next(
            (s for s in (vnet or {}).get("properties", {}).get("subnets", []) if s["name"].lower() == name), None
        )
    if subnet is None:
        raise LookupError(f"subnet {subnet_id} does not exist")
    properties = subnet["properties"]
    return str(properties.get("addressPrefix") or properties["addressPrefixes"][0])


def gateways(subnets: list[dict[str, Any]], vnets: list[dict[str, Any]]) -> set[str]:
    """Given every subnet and VNet of the cloud, return the gateway address of each subnet as `a.b.c.1/len`."""
    inline = [subnet for vnet in vnets for subnet in vnet["properties"].get("subnets") or []]
    found = set()
    for subnet in subnets + inline:
        properties = subnet.get("properties", {})
        prefix = properties.get("addressPrefix") or next(iter(properties.get("addressPrefixes") or []), None)
        if prefix:
            network = ipaddress.ip_network(prefix)
            found.add(f"{network[1]}/{network.prefixlen}")
    return found
