"""Network: nothing from the internet comes in, what goes out is known, names resolve inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.rule import Properties, Resource, Rule, StackRule

_ANYWHERE = ("*", "Internet", "0.0.0.0/0", "::/0", "Any")


def _inbound(rules: Iterable[Properties]) -> Iterator[str]:
    for rule in rules:
        sources = [rule.get("sourceAddressPrefix"), *(rule.get("sourceAddressPrefixes") or [])]
        if (
            rule.get("direction") == "Inbound"
            and rule.get("access") == "Allow"
            and any(s in _ANYWHERE for s in sources)
        ):
            port = rule.get("destinationPortRange") or "any"
            yield f"rule {rule.get('name') or ''} lets the internet in on port {port}"


def _group(p: Properties) -> Iterator[str]:
    yield from _inbound(p.get("securityRules") or [])


def _single(p: Properties) -> Iterator[str]:
    yield from _inbound([p])


def _nic(p: Properties) -> Iterator[str]:
    for configuration in p.get("ipConfigurations") or []:
        if configuration.get("publicIPAddress"):
            yield "has a public address: nodes are reached through the jump node"


def _outbound(p: Properties) -> Iterator[str]:
    if p.get("defaultOutboundAccess") is not False:
        yield "default outbound access is on: it retires, and nobody knows its address"


def _rdma(p: Properties) -> Iterator[str]:
    for prefix in (p.get("addressSpace") or {}).get("addressPrefixes") or []:
        first, second = (int(part) for part in str(prefix).split(".")[:2])
        wide = int(str(prefix).split("/")[1]) < 16
        if first == 172 and (second == 16 or (wide and second in (0, 16))):
            yield f"{prefix} overlaps 172.16.0.0/16, which the RDMA network of ND sizes uses"


RULES = (
    Rule(
        "network-no-inbound",
        ("network:NetworkSecurityGroup",),
        "No node is a server on the internet.",
        "allow from VirtualNetwork only",
        _group,
    ),
    Rule(
        "network-no-inbound-rule",
        ("network:SecurityRule",),
        "No node is a server on the internet.",
        "allow from VirtualNetwork only",
        _single,
    ),
    Rule(
        "network-no-public-address",
        ("network:NetworkInterface",),
        "Nodes are private.",
        "leave publicIPAddress out",
        _nic,
    ),
    Rule(
        "network-explicit-outbound",
        ("network:Subnet",),
        "What leaves is known.",
        "default_outbound_access=False and a NAT gateway",
        _outbound,
    ),
    Rule(
        "network-rdma-range",
        ("network:VirtualNetwork",),
        "InfiniBand breaks silently.",
        "10.0.0.0/8 or 192.168.0.0/16",
        _rdma,
    ),
)


def _zones(resources: list[Resource]) -> Iterable[tuple[str, str]]:
    endpoints = [r for r in resources if r.type == "network:PrivateEndpoint"]
    groups = [r for r in resources if r.type == "network:PrivateDnsZoneGroup"]
    if len(groups) < len(endpoints):
        yield (
            "",
            f"{len(endpoints)} private endpoints, but {len(groups)} DNS zone groups: names lead to the public address",
        )


STACK_RULES = (
    StackRule(
        "network-endpoint-names", "An endpoint nobody's name leads to is unused.", "one zone group per endpoint", _zones
    ),
)
