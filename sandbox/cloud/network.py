"""Networks of the simulated Azure: subnets, addresses, private endpoints and the records they bring into private DNS
zones."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from sandbox.cloud.addresses import NIC, allot, interfaces, network_of, prefix_of
from sandbox.cloud.ids import is_below
from sandbox.cloud.refusal import Refusal

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
SUBNET = "Microsoft.Network/virtualNetworks/subnets"
ENDPOINT = "Microsoft.Network/privateEndpoints"
ZONE = "Microsoft.Network/privateDnsZones"


def virtual_network(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Complete a VNet: its inline subnets become resources; those declared apart stay. Raise Refusal for bad
    prefixes."""
    properties = resource["properties"]
    space = [network_of(p) for p in (properties.get("addressSpace") or {}).get("addressPrefixes") or []]
    if not space:
        raise Refusal(400, "InvalidRequestFormat", "addressSpace.addressPrefixes is missing.")
    made: list[Resource] = []
    for inline in properties.pop("subnets", None) or []:
        child = {
            "id": f"{resource['id']}/subnets/{inline['name']}",
            "name": inline["name"],
            "type": SUBNET,
            "properties": {**inline.get("properties", {}), "provisioningState": "Succeeded"},
        }
        _check_subnet(child, space, [*_subnets(cloud, resource["id"]), *made])
        made.append(child)
    return made


def subnet(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check a subnet against its VNet's space and its neighbours. Raise Refusal."""
    vnet_id = resource["id"].rsplit("/subnets/", 1)[0]
    vnet = cloud.get(vnet_id) or {"properties": {}}
    space = [network_of(p) for p in (vnet["properties"].get("addressSpace") or {}).get("addressPrefixes") or []]
    _check_subnet(resource, space, _subnets(cloud, vnet_id))
    return []


def interface(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Give each IP configuration of a NIC an address: the static one asked for, or the next free one of its subnet."""
    old = {
        c["name"]: c["properties"] for c in (before or {"properties": {}})["properties"].get("ipConfigurations") or []
    }
    for configuration in resource["properties"].get("ipConfigurations") or []:
        properties = configuration.setdefault("properties", {})
        reference = (properties.get("subnet") or {}).get("id", "")
        wanted = properties.get("privateIPAddress")
        if wanted is None and old.get(configuration["name"], {}).get("subnet", {}).get("id") == reference:
            wanted = old[configuration["name"]].get("privateIPAddress")
        properties["privateIPAddress"] = allot(cloud, reference, wanted, resource["id"])
        properties.setdefault("privateIPAllocationMethod", "Dynamic")
    if not resource["properties"].get("ipConfigurations"):
        raise Refusal(400, "InvalidRequestFormat", "A network interface needs at least one IP configuration.")
    return []


def private_endpoint(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Give a private endpoint its interface and address, and approve its connection. Raise Refusal for a missing
    target."""
    properties = resource["properties"]
    for connection in properties.get("privateLinkServiceConnections") or []:
        inner = connection.setdefault("properties", {})
        target = inner.get("privateLinkServiceId", "")
        if cloud.get(target) is None:
            raise Refusal(404, "ResourceNotFound", f"The private link resource '{target}' was not found.")
        inner["privateLinkServiceConnectionState"] = {
            "status": "Approved",
            "description": "Auto-Approved",
            "actionsRequired": "None",
        }
    if before is not None:
        properties["networkInterfaces"] = before["properties"]["networkInterfaces"]
        properties["customDnsConfigs"] = before["properties"].get("customDnsConfigs", [])
        return []
    nic_id = f"{resource['id'].rsplit('/privateEndpoints/', 1)[0]}/networkInterfaces/{resource['name']}.nic"
    address = allot(cloud, (properties.get("subnet") or {}).get("id", ""), None, nic_id)
    configuration = {
        "subnet": properties["subnet"],
        "privateIPAddress": address,
        "privateIPAllocationMethod": "Dynamic",
    }
    nic = {
        "id": nic_id,
        "name": nic_id.rsplit("/", 1)[1],
        "type": NIC,
        "location": resource.get("location"),
        "properties": {
            "provisioningState": "Succeeded",
            "privateEndpoint": {"id": resource["id"]},
            "ipConfigurations": [{"name": "privateEndpointIpConfig", "properties": configuration}],
        },
    }
    properties["networkInterfaces"] = [{"id": nic_id}]
    properties["customDnsConfigs"] = [
        {"fqdn": f"{account}.{group}.core.windows.net", "ipAddresses": [address]}
        for account, group in _targets(resource)
    ]
    return [nic]


def zone_group(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Write the endpoint's A records into the zones of the group. Raise Refusal for a second group or a missing
    zone."""
    endpoint_id = resource["id"].rsplit("/privateDnsZoneGroups/", 1)[0]
    endpoint = cloud.get(endpoint_id)
    assert endpoint is not None  # its existence was checked as the parent
    groups = [g for g in cloud.below(endpoint_id) if g["type"] == f"{ENDPOINT}/privateDnsZoneGroups"]
    if any(g["id"].lower() != resource["id"].lower() for g in groups):
        raise Refusal(
            400,
            "MoreThanOnePrivateDnsZoneGroupPerPrivateEndpointNotAllowed",
            "A private endpoint has at most one private DNS zone group.",
        )
    address = _address_of(cloud, endpoint)
    records = []
    for configuration in resource["properties"].get("privateDnsZoneConfigs") or []:
        zone = cloud.get(configuration.get("properties", {}).get("privateDnsZoneId", ""))
        if zone is None:
            raise Refusal(
                404,
                "ResourceNotFound",
                f"The private DNS zone of configuration {configuration.get('name')!r} was not found.",
            )
        for account, group in _targets(endpoint):
            if zone["name"].startswith(f"privatelink.{group}."):
                rid = f"{zone['id']}/A/{account}"
                facts = {"fqdn": f"{account}.{zone['name']}.", "ttl": 10, "aRecords": [{"ipv4Address": address}]}
                records.append({"id": rid, "name": account, "type": f"{ZONE}/A", "properties": facts})
    return records


def zone_link(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check a zone's link: a VNet may be linked to one zone of a name only. Raise Refusal."""
    target = (resource["properties"].get("virtualNetwork") or {}).get("id", "")
    if cloud.get(target) is None:
        raise Refusal(404, "ResourceNotFound", f"The virtual network '{target}' was not found.")
    zone_id = resource["id"].rsplit("/virtualNetworkLinks/", 1)[0]
    zone_name = zone_id.rsplit("/", 1)[1].lower()
    for link in cloud.list(f"{ZONE}/virtualNetworkLinks"):
        other = link["id"].rsplit("/virtualNetworkLinks/", 1)[0]
        same = (link["properties"].get("virtualNetwork") or {}).get("id", "").lower() == target.lower()
        if link["id"].lower() == resource["id"].lower() or not same:
            continue
        if other.rsplit("/", 1)[1].lower() == zone_name:
            raise Refusal(
                409,
                "Conflict",
                "A virtual network cannot be linked to multiple zones with overlapping namespaces: "
                f"'{other}' is linked already.",
            )
    return []


def release(cloud: Cloud, resource: Resource) -> None:
    """Raise Refusal when another resource still uses this subnet or interface."""
    if resource["type"] == SUBNET:
        for nic in interfaces(cloud):
            for configuration in nic["properties"].get("ipConfigurations") or []:
                used = (configuration["properties"].get("subnet") or {}).get("id", "")
                if used.lower() == resource["id"].lower():
                    raise Refusal(
                        400,
                        "InUseSubnetCannotBeDeleted",
                        f"Subnet {resource['name']} is in use by {nic['id']} and cannot be deleted.",
                    )
    if resource["type"] == NIC:
        for vm in cloud.list("Microsoft.Compute/virtualMachines"):
            references = (vm["properties"].get("networkProfile") or {}).get("networkInterfaces") or []
            if any(r["id"].lower() == resource["id"].lower() for r in references):
                raise Refusal(
                    400, "NicInUse", f"Network Interface {resource['id']} is used by existing resource {vm['id']}."
                )


def dependants(cloud: Cloud, resource: Resource) -> list[Resource]:
    """Return what ends with this resource although it lies elsewhere: an endpoint's interface, its records."""
    if resource["type"] == ENDPOINT:
        nics = [cloud.get(n["id"]) for n in resource["properties"].get("networkInterfaces") or []]
        groups = [g for g in cloud.below(resource["id"]) if g["type"] == f"{ENDPOINT}/privateDnsZoneGroups"]
        return [n for n in nics if n] + [record for g in groups for record in _records(cloud, resource, g)]
    if resource["type"] == f"{ENDPOINT}/privateDnsZoneGroups":
        endpoint = cloud.get(resource["id"].rsplit("/privateDnsZoneGroups/", 1)[0])
        return _records(cloud, endpoint, resource) if endpoint else []
    return []


def _records(cloud: Cloud, endpoint: Resource, group: Resource) -> list[Resource]:
    zones = [
        c.get("properties", {}).get("privateDnsZoneId", "")
        for c in group["properties"].get("privateDnsZoneConfigs") or []
    ]
    found = [cloud.get(f"{zone}/A/{account}") for zone in zones for account, _ in _targets(endpoint)]
    return [record for record in found if record]


def _targets(endpoint: Resource) -> list[tuple[str, str]]:
    """Return (account, sub-resource) of each connection: `(lake01, blob)`."""
    found = []
    for connection in endpoint["properties"].get("privateLinkServiceConnections") or []:
        inner = connection.get("properties", {})
        found += [
            (inner["privateLinkServiceId"].rsplit("/", 1)[1].lower(), group.lower())
            for group in inner.get("groupIds") or []
        ]
    return found


def _address_of(cloud: Cloud, endpoint: Resource) -> str:
    nic = cloud.get(endpoint["properties"]["networkInterfaces"][0]["id"])
    assert nic is not None  # made with the endpoint
    return str(nic["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"])


def _subnets(cloud: Cloud, vnet_id: str) -> list[Resource]:
    return [s for s in cloud.list(SUBNET) if is_below(s["id"], vnet_id)]


def _check_subnet(resource: Resource, space: list[ipaddress.IPv4Network], others: list[Resource]) -> None:
    mine = prefix_of(resource)
    if not any(mine.subnet_of(part) for part in space):
        raise Refusal(
            400,
            "NetcfgSubnetRangeOutsideVnet",
            f"Subnet '{resource['name']}' is not valid because its IP address range {mine} is outside the VNet's.",
        )
    for other in others:
        if other["id"].lower() != resource["id"].lower() and prefix_of(other).overlaps(mine):
            raise Refusal(
                400,
                "NetcfgSubnetRangesOverlap",
                f"Subnet '{resource['name']}' is not valid because its IP address range {mine} overlaps with "
                f"'{other['name']}'.",
            )
