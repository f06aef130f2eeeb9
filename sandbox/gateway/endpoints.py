"""The storage accounts and private endpoints of a cloud, as the data plane sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox.identity.instance import nic_addresses

if TYPE_CHECKING:
    from sandbox.cloud import Cloud

ACCOUNT_TYPE = "Microsoft.Storage/storageAccounts"
CONTAINER_TYPE = "Microsoft.Storage/storageAccounts/blobServices/containers"
ENDPOINT_TYPE = "Microsoft.Network/privateEndpoints"
DOMAIN = "core.windows.net"
GROUPS = ("blob", "dfs")
PUBLIC_ADDRESS = "203.0.113.10"  # TEST-NET-3: what a public name resolves to
PACKAGES_ADDRESS = "203.0.113.20"
PACKAGES_HOST = "packages.feedline.internal"
DNS_ADDRESS = "168.63.129.16"  # Azure's own resolver address
IMDS_ADDRESS = "169.254.169.254"
FIXED_ADDRESSES = frozenset({PUBLIC_ADDRESS, PACKAGES_ADDRESS, DNS_ADDRESS, IMDS_ADDRESS})


@dataclass(frozen=True)
class PrivateEndpoint:
    """A private endpoint of one storage account: where it listens, for which sub-resource, and whether its connection
    is approved.
    """

    address: str
    account: str
    group: str
    approved: bool


def accounts(cloud: Cloud) -> dict[str, dict[str, Any]]:
    """Return the storage accounts of the cloud by name (names are global in Azure)."""
    return {account["name"].lower(): account for account in cloud.list(ACCOUNT_TYPE)}


def containers(cloud: Cloud, account_id: str) -> set[str]:
    """Given an account's id, return the names of the containers made by ARM."""
    prefix = account_id.lower() + "/"
    return {c["id"].rsplit("/", 1)[1] for c in cloud.list(CONTAINER_TYPE) if c["id"].lower().startswith(prefix)}


def container_scope(account_id: str, container: str) -> str:
    """Given an account's id and a container's name, return the container's resource id, the scope of its role
    assignments.
    """
    return f"{account_id}/blobServices/default/containers/{container}"


def private_endpoints(cloud: Cloud) -> Iterator[PrivateEndpoint]:
    """Yield the private endpoints to storage accounts that have an address, one per sub-resource."""
    for endpoint in cloud.list(ENDPOINT_TYPE):
        properties = endpoint.get("properties", {})
        addresses = endpoint_addresses(cloud, endpoint)
        connections = (properties.get("privateLinkServiceConnections") or []) + (
            properties.get("manualPrivateLinkServiceConnections") or []
        )
        for connection in connections if addresses else ():
            inner = connection.get("properties", connection)
            target = str(inner.get("privateLinkServiceId", ""))
            if f"/{ACCOUNT_TYPE}/".lower() not in target.lower():
                continue
            state = (inner.get("privateLinkServiceConnectionState") or {}).get("status", "Approved")
            for group in inner.get("groupIds") or ():
                yield PrivateEndpoint(
                    addresses[0],
                    target.rsplit("/", 1)[1].lower(),
                    group.lower(),
                    state == "Approved",
                )


def endpoint_addresses(cloud: Cloud, endpoint: Mapping[str, Any]) -> list[str]:
    """Given a private endpoint, return its private addresses: from its network interface, its own configuration, or its
    DNS facts.
    """
    properties = endpoint.get("properties", {})
    found: list[str] = []
    for reference in properties.get("networkInterfaces") or []:
        found += nic_addresses(cloud.get(reference["id"]) or {})
    found += [
        c["properties"]["privateIPAddress"]
        for c in properties.get("ipConfigurations") or []
        if c.get("properties", {}).get("privateIPAddress")
    ]
    for dns in properties.get("customDnsConfigs") or []:
        found += dns.get("ipAddresses") or []
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Facts:
    """What a request needs to know of accounts, their containers (those made by ARM) and endpoints, read once."""

    accounts: dict[str, dict[str, Any]]
    containers: dict[str, frozenset[str]]
    endpoints: tuple[PrivateEndpoint, ...]

    @classmethod
    def of(cls, cloud: Cloud) -> Facts:
        """Given the cloud, return its facts as they are now."""
        by_name = accounts(cloud)
        made = {name: frozenset(containers(cloud, account["id"])) for name, account in by_name.items()}
        return cls(by_name, made, tuple(private_endpoints(cloud)))


class CurrentFacts:
    """The facts of a cloud, read anew only after it changed: a request must not walk 300 nodes' resources."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud, self._stale = cloud, True
        self._facts = Facts({}, {}, ())
        cloud.subscribe(lambda event, resource: self._outdate())

    def __call__(self) -> Facts:
        """Return the facts."""
        if self._stale:
            self._stale = False  # before reading: a change in between makes the next call read again
            self._facts = Facts.of(self._cloud)
        return self._facts

    def _outdate(self) -> None:
        self._stale = True


def wanted_addresses(cloud: Cloud) -> set[str]:
    """Return every address the data plane answers at (IMDS, DNS, public face, packages, private endpoints): /32s of the
    bridge.
    """
    return set(FIXED_ADDRESSES) | {endpoint.address for endpoint in private_endpoints(cloud)}
