"""Two GPU machines in one availability set: as little as can run out."""

from __future__ import annotations

import pulumi_azure_native as az

PLACE = {"resource_group_name": "rg-two", "location": "swedencentral"}
group = az.resources.ResourceGroup("group", **PLACE)
vnet = az.network.VirtualNetwork(
    "vnet",
    resource_group_name=group.name,
    location="swedencentral",
    virtual_network_name="vnet",
    address_space={"address_prefixes": ["10.9.0.0/16"]},
)
subnet = az.network.Subnet(
    "subnet",
    resource_group_name=group.name,
    virtual_network_name=vnet.name,
    subnet_name="nodes",
    address_prefix="10.9.1.0/24",
)
together = az.compute.AvailabilitySet(
    "together",
    resource_group_name=group.name,
    location="swedencentral",
    availability_set_name="together",
    sku={"name": "Aligned"},
    platform_fault_domain_count=1,
)
for name in ("gpu-0", "gpu-1"):
    nic = az.network.NetworkInterface(
        f"{name}-nic",
        resource_group_name=group.name,
        location="swedencentral",
        network_interface_name=f"{name}-nic",
        ip_configurations=[{"name": "primary", "subnet": {"id": subnet.id}}],
    )
    az.compute.VirtualMachine(
        name,
        resource_group_name=group.name,
        location="swedencentral",
        vm_name=name,
        availability_set={"id": together.id},
        hardware_profile={"vm_size": "Standard_ND96isr_H100_v5"},
        network_profile={"network_interfaces": [{"id": nic.id}]},
    )
