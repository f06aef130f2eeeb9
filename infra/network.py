"""VNet, subnets and the private endpoints' DNS. No inbound from the internet, one explicit way out."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings

ZONES = {group: f"privatelink.{group}.core.windows.net" for group in ("blob", "dfs")}


@dataclass(frozen=True)
class NetworkArgs:
    """What the network is made of: the settings, and the resource group it lives in."""

    settings: Settings
    group: pulumi.Input[str]


class Network(pulumi.ComponentResource):
    """One VNet with a /24 each for nodes, endpoints and ingest; NSGs; a NAT gateway; the two privatelink zones."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:network:Network", name, None, opts)
        self._args, self._own = args, pulumi.ResourceOptions(parent=self)
        settings, group = args.settings, args.group
        self.vnet = az.network.VirtualNetwork(
            f"{name}-vnet",
            resource_group_name=group,
            virtual_network_name=f"vnet-{settings.cluster}",
            location=settings.location,
            address_space={"address_prefixes": [settings.network.cidr]},
            opts=self._own,
        )
        nsg = self._security_group(name)
        nat = self._nat_gateway(name)
        # One subnet after the other: Azure serialises writes to a VNet, and parallel ones only fail and retry.
        self.nodes = self._subnet(name, "nodes", 1, nsg, nat, [])
        self.endpoints = self._subnet(name, "endpoints", 2, nsg, None, [self.nodes])
        self.ingest = self._subnet(name, "ingest", 3, nsg, nat, [self.endpoints])
        self.zones = {kind: self._zone(name, kind, zone) for kind, zone in ZONES.items()}
        self.register_outputs({"vnet": self.vnet.id})

    def _security_group(self, name: str) -> az.network.NetworkSecurityGroup:
        rules = [
            {
                "name": "ssh-from-the-network",
                "priority": 200,
                "direction": "Inbound",
                "access": "Allow",
                "protocol": "Tcp",
                "source_address_prefix": "VirtualNetwork",
                "source_port_range": "*",
                "destination_address_prefix": "*",
                "destination_port_range": "22",
            },
            {
                "name": "nothing-from-the-internet",
                "priority": 4000,
                "direction": "Inbound",
                "access": "Deny",
                "protocol": "*",
                "source_address_prefix": "Internet",
                "source_port_range": "*",
                "destination_address_prefix": "*",
                "destination_port_range": "*",
            },
        ]
        return az.network.NetworkSecurityGroup(
            f"{name}-nsg",
            resource_group_name=self._args.group,
            network_security_group_name=f"nsg-{self._args.settings.cluster}",
            location=self._args.settings.location,
            security_rules=rules,
            opts=self._own,
        )

    def _nat_gateway(self, name: str) -> az.network.NatGateway:
        cluster, location = self._args.settings.cluster, self._args.settings.location
        address = az.network.PublicIPAddress(
            f"{name}-nat-ip",
            resource_group_name=self._args.group,
            public_ip_address_name=f"pip-{cluster}-nat",
            location=location,
            sku={"name": "Standard"},
            public_ip_allocation_method="Static",
            opts=self._own,
        )
        return az.network.NatGateway(
            f"{name}-nat",
            resource_group_name=self._args.group,
            nat_gateway_name=f"nat-{cluster}",
            location=location,
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            opts=self._own,
        )

    def _subnet(
        self,
        name: str,
        role: str,
        index: int,
        nsg: az.network.NetworkSecurityGroup,
        nat: az.network.NatGateway | None,
        after: list[pulumi.Resource],
    ) -> az.network.Subnet:
        return az.network.Subnet(
            f"{name}-{role}",
            resource_group_name=self._args.group,
            virtual_network_name=self.vnet.name,
            subnet_name=role,
            address_prefix=str(self._args.settings.network.subnet(index)),
            network_security_group={"id": nsg.id},
            nat_gateway={"id": nat.id} if nat else None,
            default_outbound_access=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )

    def _zone(self, name: str, kind: str, zone_name: str) -> az.privatedns.PrivateZone:
        zone = az.privatedns.PrivateZone(
            f"{name}-{kind}-zone",
            resource_group_name=self._args.group,
            private_zone_name=zone_name,
            location="global",
            opts=self._own,
        )
        az.privatedns.VirtualNetworkLink(
            f"{name}-{kind}-link",
            resource_group_name=self._args.group,
            private_zone_name=zone.name,
            virtual_network_link_name=f"link-{self._args.settings.cluster}",
            location="global",
            registration_enabled=False,
            virtual_network={"id": self.vnet.id},
            opts=self._own,
        )
        return zone
