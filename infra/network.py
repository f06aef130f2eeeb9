"""VNet, subnets and the private endpoints' DNS - our own, or a hub's. No inbound from the internet, one explicit way
out."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from feedline.settings.network import BASTION, ENDPOINTS, HOT_TIER, INGEST, Existing
from infra.bastion import Bastion

ZONES = {group: f"privatelink.{group}.core.windows.net" for group in ("blob", "dfs")}


@dataclass(frozen=True)
class NetworkArgs:
    """What the network is made of: the settings, and the resource group it lives in."""

    settings: Settings
    group: pulumi.Input[str]


class Network(pulumi.ComponentResource):
    """The ids that everything else needs: `vnet`, the subnets `nodes`, `endpoints`, `ingest`, and `zones` by group.

    Our own: one VNet with a /24 each for nodes, endpoints and ingest; NSGs; a NAT gateway; the two privatelink zones;
    Bastion where access asks for it. With `network.existing` all of these are the hub's, and nothing is made.
    """

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:network:Network", name, None, opts)
        self._args, self._own = args, pulumi.ResourceOptions(parent=self)
        self.vnet: pulumi.Input[str]
        self.nodes: pulumi.Input[str]
        self.endpoints: pulumi.Input[str]
        self.ingest: pulumi.Input[str]
        self.hot_tier: pulumi.Input[str] | None = None
        self.zones: dict[str, pulumi.Input[str]]
        if args.settings.network.existing:
            self._use(args.settings.network.existing)
        else:
            self._make(name)
        self.register_outputs({"vnet": self.vnet})

    def _use(self, hub: Existing) -> None:
        self.vnet, self.nodes, self.endpoints, self.ingest = hub.vnet_id, hub.nodes.id, hub.endpoints.id, hub.ingest.id
        self.zones = {"blob": hub.blob_zone_id, "dfs": hub.dfs_zone_id}

    def _make(self, name: str) -> None:
        settings = self._args.settings
        vnet = az.network.VirtualNetwork(
            f"{name}-vnet",
            resource_group_name=self._args.group,
            virtual_network_name=f"vnet-{settings.cluster}",
            location=settings.location,
            address_space={"address_prefixes": [settings.network.cidr]},
            opts=self._own,
        )
        nsg, nat = self._security_group(name), self._nat_gateway(name)
        # One subnet after the other: Azure serialises writes to a VNet, and parallel ones only fail and retry.
        nodes = self._subnet(name, vnet, "nodes", settings.nodes_subnet, nsg, nat, [])
        endpoints = self._subnet(name, vnet, "endpoints", ENDPOINTS, nsg, None, [nodes])
        ingest = self._subnet(name, vnet, "ingest", INGEST, nsg, nat, [endpoints])
        last: az.network.Subnet = ingest
        if settings.hot_tier.kind == "lustre":
            last = self._subnet(name, vnet, "lustre", HOT_TIER, nsg, nat, [last])
            self.hot_tier = last.id
        if settings.network.access == "bastion":
            prefix = str(settings.network.subnet(BASTION))
            bastion = Bastion(f"{name}-bastion", settings, self._args.group, vnet, prefix, after=last, parent=self)
            last = bastion.subnet
        self._peerings(name, vnet, last)
        self.vnet, self.nodes, self.endpoints, self.ingest = vnet.id, nodes.id, endpoints.id, ingest.id
        self.zones = {kind: self._zone(name, vnet, kind, zone).id for kind, zone in ZONES.items()}

    def _security_group(self, name: str) -> az.network.NetworkSecurityGroup:
        rules = [
            _rule("ssh-from-the-network", 200, "Allow", "Tcp", "VirtualNetwork", "22"),
            _rule("nothing-from-the-internet", 4000, "Deny", "*", "Internet", "*"),
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
        vnet: az.network.VirtualNetwork,
        role: str,
        index: int,
        nsg: az.network.NetworkSecurityGroup,
        nat: az.network.NatGateway | None,
        after: list[pulumi.Resource],
    ) -> az.network.Subnet:
        return az.network.Subnet(
            f"{name}-{role}",
            resource_group_name=self._args.group,
            virtual_network_name=vnet.name,
            subnet_name=role,
            address_prefix=str(self._args.settings.network.subnet(index)),
            network_security_group={"id": nsg.id},
            nat_gateway={"id": nat.id} if nat else None,
            default_outbound_access=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )

    def _peerings(self, name: str, vnet: az.network.VirtualNetwork, after: az.network.Subnet) -> None:
        """Our side of each peering; the other side belongs to the other network's owner."""
        for peer in self._args.settings.network.peers:
            if not peer.vnet_id:
                continue
            label = peer.vnet_id.rsplit("/", 1)[-1]
            az.network.VirtualNetworkPeering(
                f"{name}-peering-{label}",
                resource_group_name=self._args.group,
                virtual_network_name=vnet.name,
                virtual_network_peering_name=f"to-{label}",
                remote_virtual_network={"id": peer.vnet_id},
                allow_virtual_network_access=True,
                allow_forwarded_traffic=False,
                allow_gateway_transit=False,
                use_remote_gateways=False,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[after]),
            )

    def _zone(self, name: str, vnet: az.network.VirtualNetwork, kind: str, zone_name: str) -> az.privatedns.PrivateZone:
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
            virtual_network={"id": vnet.id},
            opts=self._own,
        )
        return zone


def _rule(name: str, priority: int, access: str, protocol: str, source: str, port: str) -> dict[str, object]:
    return {
        "name": name,
        "priority": priority,
        "direction": "Inbound",
        "access": access,
        "protocol": protocol,
        "source_address_prefix": source,
        "source_port_range": "*",
        "destination_address_prefix": "*",
        "destination_port_range": port,
    }
