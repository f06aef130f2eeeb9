"""`feedline:network`: the address space, who is beside it, and how people get in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from feedline import checks
from feedline.schema import key

ACCESS = ("vpn", "jump", "bastion", "command")
NODES, ENDPOINTS, INGEST, BASTION, HOT_TIER, MANY_NODES = 1, 2, 3, 4, 5, 8
"""Which /24 of the address space each subnet starts at. Bastion takes a /26, a scale set's nodes (up to 300) a /22."""

_PREFIX = {BASTION: 26, MANY_NODES: 22}


@dataclass(frozen=True)
class Subnet:
    """A subnet that exists already."""

    id: str = key(
        "Resource id of the subnet.", "/subscriptions/…/virtualNetworks/hub/subnets/gpu", checks.resource_id("subnets")
    )
    prefix: str = key("Its address prefix; node addresses are given out of it.", "10.8.1.0/24", checks.subnet)


@dataclass(frozen=True)
class Existing:
    """A hub's network, used instead of one of our own. Its owners give it NSGs, outbound and routes."""

    vnet_id: str = key(
        "Resource id of the VNet.", "/subscriptions/…/virtualNetworks/hub", checks.resource_id("virtualNetworks")
    )
    nodes: Subnet = key("Subnet of the GPU nodes.", None)
    endpoints: Subnet = key("Subnet of the private endpoints.", None)
    ingest: Subnet = key("Subnet of the ingest and jump node.", None)
    blob_zone_id: str = key(
        "Resource id of the hub's privatelink.blob zone; Azure links one VNet to one zone of a name only.",
        "/subscriptions/…/privateDnsZones/privatelink.blob.core.windows.net",
        checks.zone_id("blob"),
    )
    dfs_zone_id: str = key(
        "Resource id of the hub's privatelink.dfs zone.",
        "/subscriptions/…/privateDnsZones/privatelink.dfs.core.windows.net",
        checks.zone_id("dfs"),
    )


@dataclass(frozen=True)
class Peer:
    """A network beside ours."""

    cidr: str = key("Its address space; may not overlap ours.", "10.8.0.0/16", checks.prefix)
    vnet_id: str = key(
        "Resource id of the VNet to peer with (our side is declared; the other is its owner's); empty = only kept"
        " apart.",
        "/subscriptions/…/virtualNetworks/hub",
        checks.optional(checks.resource_id("virtualNetworks")),
        "",
    )


@dataclass(frozen=True)
class Network:
    """`feedline:network`"""

    cidr: str = key(
        "Address space of the VNet; /20 or larger, private, not overlapping 172.16.0.0/16.", "10.40.0.0/16", checks.cidr
    )
    access: str = key(
        "How operators get in: `vpn` (direct), `jump` (ProxyJump by ingest-0), `bastion` (tunnel to it) or `command`"
        " (a ProxyCommand from FEEDLINE_SSH_PROXY_COMMAND; the sandbox's way).",
        "jump",
        checks.one_of(*ACCESS),
        "vpn",
    )
    peers: tuple[Peer, ...] = key("Networks that ours is peered with or must not overlap.", None, None, ())
    existing: Existing | None = key("A hub's VNet, subnets and DNS zones, instead of our own.", None, None, None)

    def subnet(self, index: int) -> ipaddress.IPv4Network:
        """Given one of the numbers above, return that part of the address space (or of the hub)."""
        hub = self.existing
        there = {NODES: hub.nodes, MANY_NODES: hub.nodes, ENDPOINTS: hub.endpoints, INGEST: hub.ingest} if hub else {}
        if index in there:
            return ipaddress.IPv4Network(there[index].prefix)
        base = ipaddress.IPv4Network(self.cidr)
        return ipaddress.IPv4Network((int(base.network_address) + index * 256, _PREFIX.get(index, 24)))


def problems(network: Network, nodes: int, index: int, hot_tier: str) -> list[str]:
    """Given the network, the number of GPU nodes, their subnet (NODES, MANY_NODES) and the kind of hot tier, return
    what cannot work together."""
    found = []
    ours = ipaddress.IPv4Network(network.cidr)
    for place, peer in enumerate(network.peers):
        if ipaddress.IPv4Network(peer.cidr).overlaps(ours):
            found.append(f"feedline:network.peers[{place}].cidr: {peer.cidr} overlaps network.cidr {network.cidr}")
    if network.existing and network.access == "bastion":
        found.append(
            "feedline:network.access: with network.existing the hub brings its own Bastion (hint: jump, or vpn)"
        )
    if network.existing and any(peer.vnet_id for peer in network.peers):
        found.append("feedline:network.peers: with network.existing the hub's owners peer it (hint: leave vnet_id out)")
    if network.existing and hot_tier == "lustre":
        found.append("feedline:hot_tier.kind: lustre needs a subnet of its own, which network.existing has not")
    space = network.subnet(index)
    room = space.num_addresses - FIRST_ADDRESS - 1
    if nodes > room:
        found.append(f"feedline:nodes.count: {nodes} nodes do not fit {space}, which has room for {room}")
    return found


FIRST_ADDRESS = 10
"""The first address given to a node: Azure keeps four, a few stay free for hand-made things."""
