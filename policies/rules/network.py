"""Network: nothing from the internet comes in, what goes out is known, names resolve inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_network
from typing import Any

from policies.read import inside, of, profile, sources
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_ANYWHERE = ("*", "internet", "0.0.0.0/0", "::/0", "any")
_PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
_OF_AZURE = ("VirtualNetwork", "AzureLoadBalancer")
_UNGUARDED = ("azurebastionsubnet", "gatewaysubnet", "azurefirewallsubnet")
"""Subnets of Azure's own services: Bastion prescribes its NSG rules, the other two take none."""


def _inbound(source: str) -> dict[str, Any]:
    return {
        "name": "ssh",
        "direction": "Inbound",
        "access": "Allow",
        "sourceAddressPrefix": source,
        "destinationPortRange": "22",
    }


def _allowing(rules: Iterable[Properties]) -> Iterator[Properties]:
    for found in rules:
        if str(found.get("direction")).lower() == "inbound" and str(found.get("access")).lower() == "allow":
            yield found


def _from_anywhere(rules: Iterable[Properties]) -> Iterator[str]:
    for found in _allowing(rules):
        if any(source.lower() in _ANYWHERE for source in sources(found)):
            port = found.get("destinationPortRange") or "any"
            yield f"rule {found.get('name') or ''} lets the internet in on port {port}"


def _inside(source: str, allowed: list[str]) -> bool:
    """Whether a source is one of Azure's tags for inside, or lies in one of these networks."""
    if not source or source in allowed:
        return True
    try:
        network = ip_network(source, strict=False)
    except ValueError:
        return False
    return any(
        network.version == other.version and network.subnet_of(other)  # type: ignore[arg-type]
        for other in (ip_network(text) for text in allowed if "/" in text)
    )


@rule(
    "network-no-inbound",
    ("network:NetworkSecurityGroup",),
    "No node is a server on the internet.",
    "allow from VirtualNetwork only",
    passes={"securityRules": [_inbound("VirtualNetwork")]},
    fails={"securityRules": [_inbound("*")]},
)
def no_inbound(p: Properties) -> Iterator[str]:
    yield from _from_anywhere(p.get("securityRules") or [])


@rule(
    "network-no-inbound-rule",
    ("network:SecurityRule",),
    "No node is a server on the internet.",
    "allow from VirtualNetwork only",
    passes=_inbound("10.43.0.0/16"),
    fails=_inbound("0.0.0.0/0"),
)
def no_inbound_rule(p: Properties) -> Iterator[str]:
    yield from _from_anywhere([p])


@rule(
    "network-known-sources",
    ("network:NetworkSecurityGroup", "network:SecurityRule"),
    "Who may knock is written down.",
    "an address range of the company, or VirtualNetwork",
    passes={"securityRules": [_inbound("10.8.0.0/16")]},
    fails={"securityRules": [_inbound("203.0.113.0/24")]},
    parameters=(Parameter("sources", "Networks and service tags that may be let in.", [*_PRIVATE, *_OF_AZURE]),),
)
def known_sources(p: Properties, given: Given) -> Iterator[str]:
    single = [p] if p.get("direction") else []
    allowed = [str(source) for source in given["sources"]]
    for found in _allowing([*single, *(p.get("securityRules") or [])]):
        for source in sources(found):
            if not _inside(source, allowed):
                yield f"rule {found.get('name') or ''} lets in {source}, which is not among the known sources"


@rule(
    "network-no-public-address",
    ("network:NetworkInterface", "compute:VirtualMachineScaleSet"),
    "Nodes are private.",
    "leave publicIPAddress and publicIPAddressConfiguration out",
    passes={"ipConfigurations": [{"name": "primary"}]},
    fails={"ipConfigurations": [{"name": "primary", "publicIPAddress": {"id": "/…/publicIPAddresses/gpu-0"}}]},
)
def no_public_address(p: Properties) -> Iterator[str]:
    interfaces = inside(profile(p), "networkProfile").get("networkInterfaceConfigurations") or []
    configurations = [*(p.get("ipConfigurations") or [])]
    for interface in interfaces:
        configurations += interface.get("ipConfigurations") or []
    for found in configurations:
        if found.get("publicIPAddress") or found.get("publicIPAddressConfiguration"):
            yield "has a public address: nodes are reached through the jump node"


@rule(
    "network-explicit-outbound",
    ("network:Subnet",),
    "What leaves is known.",
    "default_outbound_access=False and a NAT gateway",
    passes={"defaultOutboundAccess": False},
    fails={"defaultOutboundAccess": True},
)
def explicit_outbound(p: Properties) -> Iterator[str]:
    if p.get("defaultOutboundAccess") is not False:
        yield "default outbound access is on: it retires, and nobody knows its address"


@rule(
    "network-guarded-subnet",
    ("network:Subnet",),
    "A subnet without rules takes everything that its neighbours send.",
    "network_security_group={'id': nsg.id}",
    passes={"subnetName": "nodes", "networkSecurityGroup": {"id": "/…/networkSecurityGroups/nsg"}},
    fails={"subnetName": "nodes"},
)
def guarded_subnet(p: Properties) -> Iterator[str]:
    if str(p.get("subnetName")).lower() not in _UNGUARDED and not p.get("networkSecurityGroup"):
        yield "has no network security group"


@rule(
    "network-rdma-range",
    ("network:VirtualNetwork",),
    "InfiniBand breaks silently.",
    "10.0.0.0/8 or 192.168.0.0/16",
    passes={"addressSpace": {"addressPrefixes": ["10.43.0.0/16"]}},
    fails={"addressSpace": {"addressPrefixes": ["172.16.4.0/22"]}},
)
def rdma_range(p: Properties) -> Iterator[str]:
    for prefix in inside(p, "addressSpace").get("addressPrefixes") or []:
        network = ip_network(str(prefix), strict=False)
        if network.version == 4 and network.overlaps(ip_network("172.16.0.0/16")):
            yield f"{prefix} overlaps 172.16.0.0/16, which the RDMA network of ND sizes uses"


@rule(
    "network-standard-address",
    ("network:PublicIPAddress",),
    "Basic addresses are retired, and open until a rule closes them.",
    "sku={'name': 'Standard'}",
    passes={"sku": {"name": "Standard"}},
    fails={"sku": {"name": "Basic"}},
)
def standard_address(p: Properties) -> Iterator[str]:
    if inside(p, "sku").get("name") not in ("Standard", "StandardV2"):
        yield f"its SKU is {inside(p, 'sku').get('name') or 'not set, so Basic'}"


@rule(
    "network-bastion-by-name",
    ("network:BastionHost",),
    "A tunnel to any address is a tunnel to every node.",
    "enable_ip_connect=False, enable_shareable_link left out",
    passes={"enableTunneling": True, "enableIpConnect": False},
    fails={"enableTunneling": True, "enableIpConnect": True},
)
def bastion_by_name(p: Properties) -> Iterator[str]:
    if p.get("enableIpConnect") is True:
        yield "connects to any address of the network, not only to the jump node"
    if p.get("enableShareableLink") is True:
        yield "makes links that open a session without an Azure login"


def _endpoint(manual: bool = False) -> dict[str, Any]:
    connection = [{"groupIds": ["blob"], "privateLinkServiceId": "/…/storageAccounts/lakeprod01"}]
    return {"manualPrivateLinkServiceConnections" if manual else "privateLinkServiceConnections": connection}


@rule(
    "network-approved-endpoint",
    ("network:PrivateEndpoint",),
    "An endpoint that waits for a click carries nothing.",
    "private_link_service_connections instead of the manual ones",
    passes=_endpoint(),
    fails=_endpoint(manual=True),
    level="advisory",
)
def approved_endpoint(p: Properties) -> Iterator[str]:
    if p.get("manualPrivateLinkServiceConnections"):
        yield "its connection has to be approved by hand"


@stack_rule(
    "network-endpoint-names",
    "An endpoint nobody's name leads to is unused.",
    "one zone group per endpoint",
    passes=[
        Resource("network:PrivateEndpoint", "lake-blob", _endpoint()),
        Resource("network:PrivateDnsZoneGroup", "lake-blob-names", {}),
    ],
    fails=[Resource("network:PrivateEndpoint", "lake-blob", _endpoint())],
)
def endpoint_names(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    endpoints, groups = of(resources, "network:PrivateEndpoint"), of(resources, "network:PrivateDnsZoneGroup")
    if len(groups) < len(endpoints):
        said = f"{len(endpoints)} private endpoints, but {len(groups)} DNS zone groups"
        yield "", f"{said}: names lead to the public address"
