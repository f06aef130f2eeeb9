"""What IMDS tells a virtual machine about itself: compute and network, in the shape of Azure's `/metadata/instance`."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sandbox.cloud.machines import INSTANCE, machines, placement_group, size_of

if TYPE_CHECKING:
    from sandbox.cloud import Cloud

NIC_TYPE = "Microsoft.Network/networkInterfaces"


def nic_addresses(nic: Mapping[str, Any]) -> list[str]:
    """Given a network interface, return its private addresses, the primary one first."""
    configs = nic.get("properties", {}).get("ipConfigurations") or []
    return [address for address in (c.get("properties", c).get("privateIPAddress") for c in configs) if address]


def nics_of(cloud: Cloud, vm: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Given a VM, yield its network interfaces that exist."""
    for reference in (vm.get("properties", {}).get("networkProfile") or {}).get("networkInterfaces") or []:
        nic = cloud.get(reference["id"])
        if nic is not None:
            yield nic


def find_vm(cloud: Cloud, address: str) -> dict[str, Any] | None:
    """Given a source address, return the virtual machine one of whose interfaces has it, or None."""
    for vm in machines(cloud):
        if any(address in nic_addresses(nic) for nic in nics_of(cloud, vm)):
            return vm
    return None


def vm_id(vm: Mapping[str, Any]) -> str:
    """Given a VM, return its vmId: the one in its body, else one derived from its resource id (stable for that id)."""
    return vm.get("properties", {}).get("vmId") or str(uuid.uuid5(uuid.NAMESPACE_URL, vm["id"].lower()))


def instance_document(cloud: Cloud, vm: dict[str, Any]) -> dict[str, Any]:
    """Given a VM, return its `/metadata/instance` document (compute and network)."""
    parts = vm["id"].strip("/").split("/")
    properties, tags = vm.get("properties", {}), vm.get("tags") or {}
    image = (properties.get("storageProfile") or {}).get("imageReference") or {}
    compute = {
        "azEnvironment": "AzurePublicCloud",
        "location": vm.get("location", ""),
        "name": vm["name"],
        "offer": image.get("offer", ""),
        "placementGroupId": placement_group(cloud, vm),
        "publisher": image.get("publisher", ""),
        "sku": image.get("sku", ""),
        "version": image.get("version", ""),
        "osProfile": {
            "adminUsername": (properties.get("osProfile") or {}).get("adminUsername", ""),
            "computerName": (properties.get("osProfile") or {}).get("computerName", vm["name"]),
        },
        "osType": "Linux",
        "provider": "Microsoft.Compute",
        "resourceGroupName": parts[3],
        "resourceId": vm["id"],
        "subscriptionId": parts[1],
        "tags": ";".join(f"{key}:{value}" for key, value in sorted(tags.items())),
        "tagsList": [{"name": key, "value": value} for key, value in sorted(tags.items())],
        "vmId": vm_id(vm),
        "vmScaleSetName": parts[7] if vm["type"] == INSTANCE else "",
        "vmSize": size_of(vm),
        "zone": (vm.get("zones") or [""])[0],
    }
    return {
        "compute": compute,
        "network": {"interface": [_interface(cloud, nic) for nic in nics_of(cloud, vm)]},
    }


def _interface(cloud: Cloud, nic: Mapping[str, Any]) -> dict[str, Any]:
    """Given a network interface, return it as IMDS shows it, with its subnet's prefix."""
    configs = nic.get("properties", {}).get("ipConfigurations") or []
    subnets = []
    for config in configs:
        prefix = _subnet_prefix(cloud, (config.get("properties", config).get("subnet") or {}).get("id", ""))
        if prefix:
            network = ipaddress.ip_network(prefix, strict=False)
            subnets.append(
                {
                    "address": str(network.network_address),
                    "prefix": str(network.prefixlen),
                }
            )
    return {
        "ipv4": {
            "ipAddress": [{"privateIpAddress": address, "publicIpAddress": ""} for address in nic_addresses(nic)],
            "subnet": subnets,
        },
        "ipv6": {"ipAddress": []},
        "macAddress": str(nic.get("properties", {}).get("macAddress", "")).replace("-", "").replace(":", "").upper(),
    }


def _subnet_prefix(cloud: Cloud, subnet_id: str) -> str:
    """Given a subnet's id, return its address prefix, whether the subnet is stored on its own or only inside its
    network's body.
    """
    subnet = cloud.get(subnet_id) if subnet_id else None
    if subnet is None and "/subnets/" in subnet_id:
        network = cloud.get(subnet_id.rsplit("/subnets/", 1)[0]) or {}
        inline = (network.get("properties") or {}).get("subnets") or []
        name = subnet_id.rsplit("/", 1)[1].lower()
        subnet = next((s for s in inline if str(s.get("name", "")).lower() == name), None)
    properties = (subnet or {}).get("properties") or {}
    return properties.get("addressPrefix") or (properties.get("addressPrefixes") or [""])[0]
