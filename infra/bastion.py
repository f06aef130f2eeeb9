"""Azure Bastion: the way in where operators have no VPN. Its tunnels lead to the ingest node only, which is the jump
host of all others."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings


class Bastion(pulumi.ComponentResource):
    """Bastion (Standard: tunnels need it) in the subnet whose name and size Azure prescribes. `subnet` is that
    subnet."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        group: pulumi.Input[str],
        vnet: az.network.VirtualNetwork,
        prefix: str,
        *,
        after: pulumi.Resource,
        parent: pulumi.Resource,
    ) -> None:
        super().__init__("feedline:network:Bastion", name, None, pulumi.ResourceOptions(parent=parent))
        own = pulumi.ResourceOptions(parent=self)
        self.subnet = az.network.Subnet(
            f"{name}-subnet",
            resource_group_name=group,
            virtual_network_name=vnet.name,
            subnet_name="AzureBastionSubnet",
            address_prefix=prefix,
            # Bastion refuses a subnet without a way out of its own choosing; its NSG would need Azure's own rules.
            default_outbound_access=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[after]),
        )
        address = az.network.PublicIPAddress(
            f"{name}-ip",
            resource_group_name=group,
            public_ip_address_name=f"pip-{settings.cluster}-bastion",
            location=settings.location,
            sku={"name": "Standard"},
            public_ip_allocation_method="Static",
            opts=own,
        )
        az.network.BastionHost(
            f"{name}-host",
            resource_group_name=group,
            bastion_host_name=f"bas-{settings.cluster}",
            location=settings.location,
            sku={"name": "Standard"},
            enable_tunneling=True,
            enable_ip_connect=False,  # by address it would reach every node; by VM only the one we name
            disable_copy_paste=True,
            ip_configurations=[
                {
                    "name": "bastion",
                    "subnet": {"id": self.subnet.id},
                    "public_ip_address": {"id": address.id},
                    "private_ip_allocation_method": "Dynamic",
                }
            ],
            opts=own,
        )
        self.register_outputs({})
