"""A cloud small enough to read: one account with two containers behind a private endpoint, two VMs, two identities, in
memory.
"""

from __future__ import annotations

import fnmatch
from typing import Any

SUB = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups"
NET = f"{SUB}/rg-net/providers/Microsoft.Network"
ACCOUNT = f"{SUB}/rg-lake/providers/Microsoft.Storage/storageAccounts/lake01"
IDENTITY = f"{SUB}/rg-app/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
VMS = f"{SUB}/rg-app/providers/Microsoft.Compute/virtualMachines"
TENANT = "11111111-1111-1111-1111-111111111111"
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
READER_DATA, READER = (
    [f"{BLOBS}/read"],
    ["Microsoft.Storage/storageAccounts/blobServices/containers/read"],
)
CONTRIBUTOR_DATA = [
    f"{BLOBS}/read",
    f"{BLOBS}/write",
    f"{BLOBS}/delete",
    f"{BLOBS}/add/action",
    f"{BLOBS}/move/action",
]
CONTRIBUTOR = [f"{BLOBS.removesuffix('/blobs')}/{verb}" for verb in ("read", "write", "delete")]


class SmallCloud:
    """The `Cloud` interface over a dict; grants are (principal, scope, actions, data actions)."""

    def __init__(self) -> None:
        self.resources: dict[str, dict[str, Any]] = {}
        self.grants: list[tuple[str, str, list[str], list[str]]] = []
        self.listeners: list[Any] = []

    def get(self, rid: str) -> dict[str, Any] | None:
        return self.resources.get(rid.lower())

    def list(self, type: str | None = None) -> list[dict[str, Any]]:
        return [r for r in self.resources.values() if type is None or r["type"].lower() == type.lower()]

    def put(self, rid: str, body: dict[str, Any]) -> dict[str, Any]:
        provider, *rest = rid.split("/providers/")[1].split("/")
        resource = {
            "id": rid,
            "name": rid.rsplit("/", 1)[1],
            "type": "/".join([provider, *rest[::2]]),
            **body,
        }
        self.resources[rid.lower()] = resource
        for listener in self.listeners:
            listener("put", resource)
        return resource

    def delete(self, rid: str) -> bool:
        gone = self.resources.pop(rid.lower(), None)
        for listener in self.listeners if gone else ():
            listener("delete", gone)
        return gone is not None

    def subscribe(self, listener: Any) -> None:
        self.listeners.append(listener)

    def grant(self, principal: str, scope: str, actions: list[str], data: list[str]) -> None:
        self.grants.append((principal, scope.lower(), actions, data))

    def decide(self, principal_id: str, data_action: str, scope: str) -> bool:
        return self._decide(principal_id, data_action, scope, 3)

    def decide_action(self, principal_id: str, action: str, scope: str) -> bool:
        return self._decide(principal_id, action, scope, 2)

    def _decide(self, principal: str, action: str, scope: str, column: int) -> bool:
        return any(
            grant[0] == principal
            and f"{scope.lower()}/".startswith(f"{grant[1]}/")
            and any(fnmatch.fnmatch(action.lower(), pattern.lower()) for pattern in grant[column])
            for grant in self.grants
        )


def identity(cloud: SmallCloud, name: str, number: int) -> str:
    """Make a user-assigned identity with readable GUIDs; return its id."""
    cloud.put(
        f"{IDENTITY}/{name}",
        {
            "properties": {
                "principalId": f"aaaaaaaa-0000-0000-0000-{number:012d}",
                "clientId": f"cccccccc-0000-0000-0000-{number:012d}",
                "tenantId": TENANT,
            }
        },
    )
    return f"{IDENTITY}/{name}"


def machine(cloud: SmallCloud, name: str, address: str, identities: list[str]) -> None:
    """Make a VM with one interface at `address` and the identities attached."""
    nic = f"{NET}/networkInterfaces/{name}-nic"
    cloud.put(
        nic,
        {
            "properties": {
                "macAddress": "00-0D-3A-00-00-01",
                "ipConfigurations": [
                    {
                        "name": "ip",
                        "properties": {
                            "privateIPAddress": address,
                            "subnet": {"id": f"{NET}/virtualNetworks/vnet/subnets/nodes"},
                        },
                    }
                ],
            }
        },
    )
    cloud.put(
        f"{VMS}/{name}",
        {
            "location": "eastus2",
            "tags": {"role": "train", "owner": "ml"},
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": {rid: {} for rid in identities},
            },
            "properties": {
                "hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"},
                "osProfile": {"computerName": name},
                "networkProfile": {"networkInterfaces": [{"id": nic}]},
            },
        },
    )


def small_cloud() -> SmallCloud:
    """Return the cloud: gpu-0 (10.0.1.4) is `train`, ingest-0 (10.0.2.4) is `ingest`, lake01's endpoint is 10.0.3.4."""
    cloud = SmallCloud()
    vnet = f"{NET}/virtualNetworks/vnet"
    cloud.put(
        vnet,
        {"properties": {"subnets": [{"name": "nodes", "properties": {"addressPrefix": "10.0.1.0/24"}}]}},
    )
    cloud.put(
        ACCOUNT,
        {
            "kind": "StorageV2",
            "sku": {"name": "Standard_ZRS"},
            "properties": {
                "isHnsEnabled": True,
                "allowSharedKeyAccess": False,
                "publicNetworkAccess": "Disabled",
            },
        },
    )
    for name in ("raw", "training-data"):
        cloud.put(f"{ACCOUNT}/blobServices/default/containers/{name}", {"properties": {}})
    for group, address in (("blob", "10.0.3.4"), ("dfs", "10.0.3.5")):
        endpoint = f"{NET}/privateEndpoints/lake01-{group}"
        cloud.put(
            f"{NET}/networkInterfaces/lake01-{group}-nic",
            {"properties": {"ipConfigurations": [{"name": "ip", "properties": {"privateIPAddress": address}}]}},
        )
        cloud.put(
            endpoint,
            {
                "properties": {
                    "networkInterfaces": [{"id": f"{NET}/networkInterfaces/lake01-{group}-nic"}],
                    "privateLinkServiceConnections": [
                        {
                            "name": "c",
                            "properties": {
                                "privateLinkServiceId": ACCOUNT,
                                "groupIds": [group],
                            },
                        }
                    ],
                }
            },
        )
        zone = f"{NET}/privateDnsZones/privatelink.{group}.core.windows.net"
        cloud.put(zone, {"properties": {}})
        cloud.put(
            f"{zone}/virtualNetworkLinks/vnet",
            {"properties": {"virtualNetwork": {"id": vnet}}},
        )
        cloud.put(f"{zone}/A/lake01", {"properties": {"ttl": 10, "aRecords": [{"ipv4Address": address}]}})
    train, ingest = identity(cloud, "train", 1), identity(cloud, "ingest", 2)
    machine(cloud, "gpu-0", "10.0.1.4", [train])
    machine(cloud, "ingest-0", "10.0.2.4", [ingest, train])
    data = f"{ACCOUNT}/blobServices/default/containers/training-data"
    cloud.grant("aaaaaaaa-0000-0000-0000-000000000001", data, READER, READER_DATA)
    cloud.grant("aaaaaaaa-0000-0000-0000-000000000002", ACCOUNT, CONTRIBUTOR, CONTRIBUTOR_DATA)
    return cloud
