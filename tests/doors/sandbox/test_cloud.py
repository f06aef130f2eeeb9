"""The simulated Azure refuses what Azure refuses, in its words, and decides access as Azure does."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud import Cloud, Refusal

SUB = "/subscriptions/00000000-0000-0000-0000-000000000001"
GROUP = f"{SUB}/resourceGroups/rg"
NET = f"{GROUP}/providers/Microsoft.Network"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/lake01"
CONTAINER = f"{ACCOUNT}/blobServices/default/containers/data"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/id-train"
VM = f"{GROUP}/providers/Microsoft.Compute/virtualMachines/gpu-0"
READER = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
READ, WRITE = (f"Microsoft.Storage/storageAccounts/blobServices/containers/blobs/{verb}" for verb in ("read", "write"))
LAKE = {"location": "x", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": {"isHnsEnabled": True}}


def assignment(number: int, scope: str = CONTAINER) -> str:
    return f"{scope}/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-{number:012d}"


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    found = Cloud(tmp_path / "cloud.json")
    found.rbac_delay_s = 0
    found.put(GROUP, {"location": "x"})
    found.put(ACCOUNT, LAKE)
    found.put(CONTAINER, {})
    found.put(IDENTITY, {"location": "x"})
    found.put(
        f"{NET}/virtualNetworks/v",
        {"location": "x", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}},
    )
    found.put(f"{NET}/virtualNetworks/v/subnets/a", {"properties": {"addressPrefix": "10.0.1.0/28"}})
    return found


def refused(cloud: Cloud, rid: str, body: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as caught:
        cloud.put(rid, body)
    return caught.value.code


def nic(name: str, address: str | None = None) -> tuple[str, dict[str, Any]]:
    inner: dict[str, Any] = {"subnet": {"id": f"{NET}/virtualNetworks/v/subnets/a"}}
    if address:
        inner |= {"privateIPAddress": address, "privateIPAllocationMethod": "Static"}
    return f"{NET}/networkInterfaces/{name}", {
        "location": "x",
        "properties": {"ipConfigurations": [{"name": "p", "properties": inner}]},
    }


def vm(size: str = "Standard_ND96isr_H100_v5") -> dict[str, Any]:
    return {
        "location": "x",
        "properties": {
            "hardwareProfile": {"vmSize": size},
            "networkProfile": {"networkInterfaces": [{"id": f"{NET}/networkInterfaces/n"}]},
        },
    }


def test_a_resource_needs_its_group_and_its_parent(cloud: Cloud) -> None:
    assert refused(cloud, ACCOUNT.replace("/rg/", "/none/"), LAKE) == "ResourceGroupNotFound"
    assert refused(cloud, CONTAINER.replace("lake01", "lake02"), {}) == "ParentResourceNotFound"


def test_names_are_held_to_azures_rules(cloud: Cloud) -> None:
    assert refused(cloud, ACCOUNT.replace("lake01", "Lake_01"), LAKE) == "AccountNameInvalid"
    assert refused(cloud, CONTAINER.replace("/data", "/d"), {}) == "InvalidResourceName"


def test_an_account_name_is_taken_for_everybody(cloud: Cloud) -> None:
    cloud.put(f"{SUB}/resourceGroups/other", {"location": "x"})
    assert refused(cloud, ACCOUNT.replace("/rg/", "/other/"), LAKE) == "StorageAccountAlreadyTaken"


def test_the_hierarchical_namespace_cannot_be_changed(cloud: Cloud) -> None:
    assert refused(cloud, ACCOUNT, {**LAKE, "properties": {"isHnsEnabled": False}}) == "PropertyChangeNotAllowed"


def test_a_lock_holds_everything_below_it_and_its_group(cloud: Cloud) -> None:
    lock = f"{GROUP}/providers/Microsoft.Authorization/locks/l"
    cloud.put(lock, {"properties": {"level": "CanNotDelete"}})
    for rid in (CONTAINER, ACCOUNT, GROUP):
        with pytest.raises(Refusal, match="ScopeLocked"):
            cloud.delete(rid)
    assert cloud.delete(lock) and cloud.delete(GROUP) and cloud.list() == []


def test_an_identity_keeps_its_ids(cloud: Cloud) -> None:
    before = cloud.get(IDENTITY)
    cloud.put(IDENTITY, {"location": "x", "tags": {"a": "b"}})
    after = cloud.get(IDENTITY)
    assert before and after and before["properties"]["principalId"] == after["properties"]["principalId"]


def test_addresses_are_allotted_from_the_fourth_on_until_the_subnet_is_full(cloud: Cloud) -> None:
    given = [
        cloud.put(*nic(f"n{i}"))["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"]
        for i in range(11)
    ]
    assert given[0] == "10.0.1.4" and len(set(given)) == 11
    assert refused(cloud, *nic("late")) == "SubnetIsFull"


def test_a_static_address_is_refused_outside_its_subnet_and_when_taken(cloud: Cloud) -> None:
    cloud.put(*nic("n", "10.0.1.9"))
    assert refused(cloud, *nic("m", "10.0.1.9")) == "PrivateIPAddressIsAllocated"
    assert refused(cloud, *nic("m", "10.0.9.9")) == "PrivateIPAddressNotInSubnet"


def test_subnets_stay_inside_the_network_and_apart_from_each_other(cloud: Cloud) -> None:
    base = f"{NET}/virtualNetworks/v/subnets"
    assert refused(cloud, f"{base}/b", {"properties": {"addressPrefix": "10.0.1.0/24"}}) == "NetcfgSubnetRangesOverlap"
    assert (
        refused(cloud, f"{base}/b", {"properties": {"addressPrefix": "10.9.1.0/24"}}) == "NetcfgSubnetRangeOutsideVnet"
    )


def test_a_private_endpoint_gets_an_address_and_its_zone_group_the_record(cloud: Cloud) -> None:
    zone, endpoint = f"{NET}/privateDnsZones/privatelink.blob.core.windows.net", f"{NET}/privateEndpoints/pe"
    cloud.put(zone, {"location": "global"})
    connection = {"name": "c", "properties": {"privateLinkServiceId": ACCOUNT, "groupIds": ["blob"]}}
    cloud.put(
        endpoint,
        {
            "location": "x",
            "properties": {
                "subnet": {"id": f"{NET}/virtualNetworks/v/subnets/a"},
                "privateLinkServiceConnections": [connection],
            },
        },
    )
    group = {"properties": {"privateDnsZoneConfigs": [{"name": "blob", "properties": {"privateDnsZoneId": zone}}]}}
    cloud.put(f"{endpoint}/privateDnsZoneGroups/default", group)
    record = cloud.get(f"{zone}/A/lake01")
    assert record and record["properties"]["aRecords"] == [{"ipv4Address": "10.0.1.4"}]
    assert refused(cloud, f"{endpoint}/privateDnsZoneGroups/second", group).startswith("MoreThanOne")
    cloud.delete(endpoint)
    assert cloud.get(f"{zone}/A/lake01") is None and not cloud.list("Microsoft.Network/networkInterfaces")


def test_a_network_is_linked_to_one_zone_of_a_name(cloud: Cloud) -> None:
    cloud.put(f"{SUB}/resourceGroups/other", {"location": "x"})
    link = {"location": "global", "properties": {"virtualNetwork": {"id": f"{NET}/virtualNetworks/v"}}}
    zones = [
        f"{SUB}/resourceGroups/{g}/providers/Microsoft.Network/privateDnsZones/privatelink.blob.core.windows.net"
        for g in ("rg", "other")
    ]
    for zone in zones:
        cloud.put(zone, {"location": "global"})
    cloud.put(f"{zones[0]}/virtualNetworkLinks/l", link)
    assert refused(cloud, f"{zones[1]}/virtualNetworkLinks/l", link) == "Conflict"


def test_a_vm_of_an_unknown_size_or_without_its_interface_is_refused(cloud: Cloud) -> None:
    assert refused(cloud, VM, vm("Standard_ND1_v9")) == "SkuNotAvailable"
    assert refused(cloud, VM, vm()) == "NotFound"


def test_custom_data_is_kept_but_never_answered(cloud: Cloud) -> None:
    cloud.put(*nic("n"))
    body = vm()
    body["properties"]["osProfile"] = {"computerName": "gpu-0", "customData": "c2VjcmV0"}
    made = cloud.put(VM, body)
    assert "customData" not in made["properties"]["osProfile"] and cloud.secret(VM) == {"customData": "c2VjcmV0"}
    assert made["properties"]["vmId"] == cloud.put(VM, vm())["properties"]["vmId"]


def assign(
    cloud: Cloud, number: int = 1, scope: str = CONTAINER, role: str = READER, kind: str = "ServicePrincipal"
) -> str:
    identity = cloud.get(IDENTITY)
    assert identity
    principal = identity["properties"]["principalId"]
    cloud.put(
        assignment(number, scope),
        {"properties": {"principalId": principal, "roleDefinitionId": role, "principalType": kind}},
    )
    return str(principal)


def test_a_reader_may_read_in_its_container_and_nowhere_else(cloud: Cloud) -> None:
    principal = assign(cloud)
    assert cloud.decide(principal, READ, CONTAINER) and not cloud.decide(principal, WRITE, CONTAINER)
    assert not cloud.decide(principal, READ, CONTAINER.replace("/data", "/raw"))
    assert not cloud.decide(principal, READ, CONTAINER + "2")


def test_an_assignment_above_counts_below(cloud: Cloud) -> None:
    assert cloud.decide(assign(cloud, scope=GROUP), READ, CONTAINER)


def test_a_new_assignment_counts_after_the_delay_only_and_a_removed_one_at_once(cloud: Cloud) -> None:
    cloud.rbac_delay_s = 60
    principal = assign(cloud)
    assert not cloud.decide(principal, READ, CONTAINER)
    cloud.rbac_delay_s = 0
    assert cloud.decide(principal, READ, CONTAINER)
    cloud.delete(assignment(1))
    assert not cloud.decide(principal, READ, CONTAINER)


def test_a_custom_role_grants_its_wildcards_but_what_it_withholds(cloud: Cloud) -> None:
    role = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000aa"
    permission = {"dataActions": [READ.replace("/read", "/*")], "notDataActions": [WRITE]}
    cloud.put(role, {"properties": {"roleName": "r", "assignableScopes": [GROUP], "permissions": [permission]}})
    principal = assign(cloud, role=role)
    assert cloud.decide(principal, READ, CONTAINER) and not cloud.decide(principal, WRITE, CONTAINER)


def test_the_same_assignment_twice_and_the_wrong_principal_type_are_refused(cloud: Cloud) -> None:
    assign(cloud)
    with pytest.raises(Refusal, match="RoleAssignmentExists"):
        assign(cloud, number=2)
    with pytest.raises(Refusal, match="UnmatchedPrincipalType"):
        assign(cloud, number=3, scope=GROUP, kind="User")


def test_the_state_outlives_the_process(cloud: Cloud, tmp_path: Path) -> None:
    again = Cloud(tmp_path / "cloud.json")
    assert again.list() == cloud.list()


def test_listeners_hear_of_each_change_and_of_what_came_with_it(cloud: Cloud) -> None:
    heard: list[tuple[str, str]] = []
    cloud.subscribe(lambda event, resource: heard.append((event, resource["name"])))
    cloud.put(ACCOUNT.replace("lake01", "lake02"), LAKE)
    cloud.delete(CONTAINER)
    assert heard == [("put", "lake02"), ("put", "default"), ("delete", "data")]
