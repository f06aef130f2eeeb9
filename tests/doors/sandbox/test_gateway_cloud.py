"""The data plane over the real cloud: what ARM makes is what names, addresses and decisions are read from."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud import Cloud
from sandbox.gateway import wanted_addresses
from sandbox.gateway.decision import Allow, Request, decide
from sandbox.gateway.dns import names
from sandbox.gateway.endpoints import Facts
from sandbox.identity.imds import attached
from sandbox.identity.instance import find_vm, instance_document
from sandbox.identity.tokens import Identity, Tokens

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg"
NET, ACCOUNT = f"{GROUP}/providers/Microsoft.Network", f"{GROUP}/providers/Microsoft.Storage/storageAccounts/lake01"
VNET, ZONE = f"{NET}/virtualNetworks/vnet", f"{NET}/privateDnsZones/privatelink.blob.core.windows.net"
TRAIN = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/train"
VM = f"{GROUP}/providers/Microsoft.Compute/virtualMachines/gpu-0"
DATA = f"{ACCOUNT}/blobServices/default/containers/training-data"
READER = f"{GROUP}/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
MISMATCH = "AuthorizationPermissionMismatch"
HERE: dict[str, Any] = {"location": "eastus2"}


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    """A VNet, an account behind its endpoint, a zone with its record, an identity and a VM, made by ARM's rules."""
    made = Cloud(tmp_path / "cloud.json")
    made.rbac_delay_s = 0
    made.put(GROUP, HERE)
    space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
    subnets = [{"name": "nodes", "properties": {"addressPrefix": "10.0.1.0/24"}}]
    made.put(VNET, {**HERE, "properties": {**space, "subnets": subnets}})
    closed = {"isHnsEnabled": True, "allowSharedKeyAccess": False, "publicNetworkAccess": "Disabled"}
    made.put(ACCOUNT, {**HERE, "kind": "StorageV2", "sku": {"name": "Standard_ZRS"}, "properties": closed})
    made.put(DATA, {"properties": {}})
    subnet = {"id": f"{VNET}/subnets/nodes"}
    connection = {"name": "c", "properties": {"privateLinkServiceId": ACCOUNT, "groupIds": ["blob"]}}
    endpoint = {"subnet": subnet, "privateLinkServiceConnections": [connection]}
    made.put(f"{NET}/privateEndpoints/lake01-blob", {**HERE, "properties": endpoint})
    made.put(ZONE, {"location": "global"})
    made.put(f"{ZONE}/virtualNetworkLinks/vnet", {"location": "global", "properties": {"virtualNetwork": {"id": VNET}}})
    group = {"privateDnsZoneConfigs": [{"name": "blob", "properties": {"privateDnsZoneId": ZONE}}]}
    made.put(f"{NET}/privateEndpoints/lake01-blob/privateDnsZoneGroups/default", {"properties": group})
    made.put(TRAIN, HERE)
    ip = {"name": "ip", "properties": {"subnet": subnet, "privateIPAddress": "10.0.1.20"}}
    made.put(f"{NET}/networkInterfaces/gpu-0", {**HERE, "properties": {"ipConfigurations": [ip]}})
    made.put(VM, vm())
    return made


def vm() -> dict[str, Any]:
    """Return the body of a VM with one interface and the identity."""
    profile = {"computerName": "gpu-0", "adminUsername": "azureuser", "customData": base64.b64encode(b"x").decode()}
    properties = {
        "hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"},
        "osProfile": profile,
        "networkProfile": {"networkInterfaces": [{"id": f"{NET}/networkInterfaces/gpu-0"}]},
    }
    identity = {"type": "UserAssigned", "userAssignedIdentities": {TRAIN: {}}}
    return {**HERE, "identity": identity, "properties": properties}


def assign(cloud: Cloud, scope: str, role: str = READER) -> None:
    train = cloud.get(TRAIN)
    assert train is not None
    rid = f"{scope}/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000aa"
    principal = {"principalId": train["properties"]["principalId"], "principalType": "ServicePrincipal"}
    cloud.put(rid, {"properties": {**principal, "roleDefinitionId": role}})


def code(cloud: Cloud, tokens: Tokens, method: str, uri: str) -> str:
    """Return what the authorizer says to `train` at the endpoint's address."""
    train = cloud.get(TRAIN)
    assert train is not None
    token = tokens.mint(Identity.of(train), "https://storage.azure.com/", time.time())
    request = Request(method, "lake01.blob.core.windows.net", uri, "10.0.1.20", "10.0.1.4", f"Bearer {token}")
    answer = decide(cloud, Facts.of(cloud), tokens, request, time.time())
    return "allowed" if isinstance(answer, Allow) else answer.code


def test_the_endpoint_arm_made_is_where_the_name_leads_and_what_the_bridge_needs(cloud: Cloud) -> None:
    known = names(cloud)
    assert known.aliases["lake01.blob.core.windows.net"] == "lake01.privatelink.blob.core.windows.net"
    assert known.addresses["lake01.privatelink.blob.core.windows.net"] == "10.0.1.4"
    assert known.addresses["lake01.dfs.core.windows.net"] == "203.0.113.10"
    assert known.addresses["gpu-0"] == "10.0.1.20" and "10.0.1.4" in wanted_addresses(cloud)


def test_a_reader_of_one_container_reads_it_lists_it_and_nothing_more(cloud: Cloud, tmp_path: Path) -> None:
    tokens = Tokens.open(tmp_path / "key.pem")
    assert code(cloud, tokens, "GET", "/training-data/a") == MISMATCH
    assign(cloud, DATA)
    for uri in ("/training-data/a", "/training-data?restype=container&comp=list", "/training-data?restype=container"):
        assert code(cloud, tokens, "GET", uri) == "allowed"
    assert code(cloud, tokens, "PUT", "/training-data/a") == MISMATCH
    assert code(cloud, tokens, "GET", "/raw/a") == MISMATCH
    assert code(cloud, tokens, "GET", "/?comp=list") == MISMATCH


def test_a_role_counts_only_after_its_propagation(cloud: Cloud, tmp_path: Path) -> None:
    tokens = Tokens.open(tmp_path / "key.pem")
    cloud.rbac_delay_s = 3600
    assign(cloud, DATA)
    assert code(cloud, tokens, "GET", "/training-data/a") == MISMATCH
    cloud.rbac_delay_s = 0
    assert code(cloud, tokens, "GET", "/training-data/a") == "allowed"


def test_an_owner_of_the_group_without_a_data_role_reads_no_blob(cloud: Cloud, tmp_path: Path) -> None:
    assign(cloud, GROUP, READER.rsplit("/", 1)[0] + "/8e3af657-a8ff-443c-a75c-2fe8c4bcb635")
    assert code(cloud, Tokens.open(tmp_path / "key.pem"), "GET", "/training-data/a") == MISMATCH


def test_imds_finds_the_vm_by_its_address_with_its_identity_and_vm_id(cloud: Cloud) -> None:
    found = find_vm(cloud, "10.0.1.20")
    assert found is not None and [identity.resource_id for identity in attached(cloud, found)] == [TRAIN]
    document = instance_document(cloud, found)
    assert document["compute"]["vmId"] == found["properties"]["vmId"]
    assert document["network"]["interface"][0]["ipv4"]["subnet"] == [{"address": "10.0.1.0", "prefix": "24"}]
    assert "customData" not in json.dumps(document)


def test_the_endpoints_deletion_closes_the_door_and_takes_the_private_name_away(cloud: Cloud, tmp_path: Path) -> None:
    assign(cloud, DATA)
    cloud.delete(f"{NET}/privateEndpoints/lake01-blob")
    answer = code(cloud, Tokens.open(tmp_path / "key.pem"), "GET", "/training-data/a")
    assert answer == "AuthorizationFailure"
    assert names(cloud).addresses["lake01.blob.core.windows.net"] == "203.0.113.10"
