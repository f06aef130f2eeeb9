"""What the program declares for settings beyond the committed environments; the monitor is played."""

from typing import Any

import pytest

from feedline.contract import Contract
from feedline.errors import SettingsError
from tests.doors.infra.conftest import Declare

pytestmark = pytest.mark.timeout(120)

HUB = "/subscriptions/00000000-0000-0000-0000-0000feed11e0/resourceGroups/hub/providers/Microsoft.Network"
LUSTRE = {
    "kind": "lustre",
    "account": "feedlinehot01",
    "tib": 16,
    "provider_object_id": "6f1d2c0e-0000-4000-8000-000000000002",
    "exception_reason": "a test",
    "exception_until": "2027-03-01",
}


SUBNETS = {
    name: {"id": f"{HUB}/virtualNetworks/hub/subnets/{name}", "prefix": f"10.8.{index}.0/24"}
    for index, name in enumerate(("nodes", "endpoints", "ingest"), 1)
}
ZONES = {f"{kind}_zone_id": f"{HUB}/privateDnsZones/privatelink.{kind}.core.windows.net" for kind in ("blob", "dfs")}
GALLERY = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0"

SET = {
    "nodes.count": 12,
    "nodes.os_disk": "ephemeral",
    "nodes.cache_disk_gib": 1024,
    "nodes.image": GALLERY,
    "network.peers": [{"cidr": "10.8.0.0/16", "vnet_id": f"{HUB}/virtualNetworks/hub"}, {"cidr": "10.9.0.0/16"}],
    "lake.replicas": ["feedlinecopy01"],
    "lake.adopt": "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/feedlinesandbox",
    "lake.log_reads": True,
    "lake.lifecycle": [{"container": "raw", "days": 9, "to": "archive"}],
    "hot_tier": {"kind": "premium_blob", "account": "feedlinehot01"},
}
"""An availability set with much that can be chosen."""

UNIFORM = {
    "nodes.placement": "uniform",
    "nodes.count": 300,
    "nodes.larger_placement_group": True,
    "hot_tier": LUSTRE,
}
PARKED = {
    "nodes.count": 0,
    "groups_exist": True,
    "network.existing": {"vnet_id": f"{HUB}/virtualNetworks/hub", **SUBNETS, **ZONES},
}
"""No node, in a hub's network."""


def test_each_node_of_an_availability_set_has_its_name_and_address(declared: Declare) -> None:
    made = declared(SET).resources
    assert made["gpu-11"]["vmName"] == "gpu-11" and made["gpu-11"]["availabilitySet"]["id"] == "id-nodes-together"
    assert made["gpu-11-nic"]["ipConfigurations"][0]["privateIPAddress"] == "10.40.1.21"
    assert made["nodes-together"]["platformFaultDomainCount"] == 1


def test_no_machine_has_a_public_address_and_none_shares_a_name(declared: Declare) -> None:
    found = declared(SET)
    nics = [r for name, r in found.resources.items() if name.endswith("-nic")]
    assert len(nics) == 13 and not any("publicIPAddress" in c for r in nics for c in r["ipConfigurations"])


def test_a_uniform_set_is_one_placement_group_without_surplus(declared: Declare) -> None:
    found = declared(UNIFORM)
    gpu = found.resources["nodes-gpu"]
    assert gpu["sku"]["capacity"] == 300 and gpu["orchestrationMode"] == "Uniform"
    assert (gpu["singlePlacementGroup"], gpu["overprovision"], gpu["platformFaultDomainCount"]) == (True, False, 1)
    assert gpu["upgradePolicy"] == {"mode": "Manual"} and "zones" not in gpu
    assert found.resources["network-nodes"]["addressPrefix"] == "10.40.8.0/22"
    contract = Contract.parse(found.contract)
    assert [n.name for n in contract.nodes] == ["ingest-0"] and contract.scale_sets[0].resource_id == "id-nodes-gpu"


def test_with_a_hubs_network_nothing_of_a_network_is_made(declared: Declare) -> None:
    made = declared(PARKED).resources
    assert not [name for name in made if name.startswith("network-")]
    assert made["lake-blob-endpoint"]["subnet"] == {"id": SUBNETS["endpoints"]["id"]}
    assert made["lake-dfs-zone-group"]["privateDnsZoneConfigs"][0]["privateDnsZoneId"] == ZONES["dfs_zone_id"]
    assert made["ingest-0-nic"]["ipConfigurations"][0]["privateIPAddress"] == "10.8.3.10"


def test_our_side_of_a_peering_is_declared_and_a_mere_neighbour_is_not(declared: Declare) -> None:
    found = declared(SET)
    peering = found.resources["network-peering-hub"]
    assert peering["remoteVirtualNetwork"] == {"id": f"{HUB}/virtualNetworks/hub"}
    assert peering["allowForwardedTraffic"] is False
    assert list(found.types.values()).count("azure-native:network:VirtualNetworkPeering") == 1


def test_copies_of_the_data_get_accounts_endpoints_and_assignments_of_their_own(declared: Declare) -> None:
    found = declared(SET)
    made = found.resources
    assert made["lake-feedlinecopy01-account"]["isHnsEnabled"] is True
    assert "lake-feedlinecopy01-raw" not in made and "lake-feedlinecopy01-training-data" in made
    assert {"identities-train-training-data-feedlinecopy01", "lake-feedlinecopy01-dfs-endpoint"} <= set(made)


def test_nodes_are_dealt_to_the_copies_in_turn(declared: Declare) -> None:
    contract = Contract.parse(declared(SET).contract)
    served = [contract.mounts_of(contract.node(f"gpu-{n}"))[0].account for n in range(3)]
    assert served == ["feedlinesandbox", "feedlinecopy01", "feedlinesandbox"]


def test_lustre_gets_an_account_of_its_own_and_the_lake_stays_closed(declared: Declare) -> None:
    found = declared(UNIFORM)
    made = found.resources
    assert made["hot-account"]["allowSharedKeyAccess"] is True and made["lake-account"]["allowSharedKeyAccess"] is False
    assert made["hot-lustre"]["storageCapacityTiB"] == 16 and made["hot-lustre"]["sku"]["name"].endswith("-250")
    assert "governance-hot-no-shared-key" not in made and "governance-hot-no-public-network" in made
    assert Contract.parse(found.contract).lustre == "10.40.5.4@tcp:/lustrefs"


def test_a_premium_hot_tier_is_mounted_beside_the_lake_without_keys(declared: Declare) -> None:
    found = declared(SET)
    account = found.resources["hot-account"]
    assert account["sku"] == {"name": "Premium_LRS"} and account["kind"] == "BlockBlobStorage"
    assert account["allowSharedKeyAccess"] is False
    contract = Contract.parse(found.contract)
    assert [m.path for m in contract.mounts] == ["/mnt/training-data", "/mnt/checkpoints", "/mnt/hot-data"]
    assert contract.account("feedlinehot01").containers == ("training-data",)


def test_an_ephemeral_os_disk_and_a_managed_cache_disk_are_sent_as_azure_names_them(declared: Declare) -> None:
    found = declared(SET)
    storage = found.resources["gpu-0"]["storageProfile"]
    assert storage["osDisk"]["diffDiskSettings"] == {"option": "Local", "placement": "NvmeDisk"}
    assert [(d["lun"], d["diskSizeGB"]) for d in storage["dataDisks"]] == [(0, 1024)]
    assert "dataDisks" not in found.resources["ingest-0"]["storageProfile"]
    node = Contract.parse(found.contract).node("gpu-0")
    assert (node.nvme_disks, node.cache_lun) == (7, 0)


def test_a_gallery_image_is_referred_to_by_its_id(declared: Declare) -> None:
    made = declared(SET).resources
    assert made["gpu-0"]["storageProfile"]["imageReference"] == {"id": GALLERY}


def test_an_existing_account_keeps_its_name_and_is_put_right(declared: Declare) -> None:
    account = declared(SET).resources["lake-account"]
    assert account["accountName"] == "feedlinesandbox" and account["allowSharedKeyAccess"] is False


def test_groups_that_bootstrap_made_are_read_and_the_role_it_made_is_used(declared: Declare) -> None:
    made = declared(PARKED).resources
    assert "resourceGroupName" not in made["cluster"] and "identities-append" not in made
    role = made["identities-train-checkpoints"]["roleDefinitionId"]
    assert "/resourceGroups/rg-feedline-sandbox-lake/providers/Microsoft.Authorization/roleDefinitions/" in role


def test_restricted_data_gets_a_key_of_its_owner_and_every_read_is_logged(declared: Declare) -> None:
    made = declared(stack="norway").resources
    encryption = made["lake-account"]["encryption"]
    assert encryption["keySource"] == "Microsoft.Keyvault" and "keyVersion" not in encryption["keyVaultProperties"]
    assert made["lake-encryption-role"]["scope"].endswith("/vaults/kv-feedline-norway/keys/lake")
    assert made["gpu-0"]["securityProfile"] == {"encryptionAtHost": True}
    logged = [log["category"] for log in made["observability-feedlinenorway01-diagnostics"]["logs"]]
    assert logged == ["StorageWrite", "StorageDelete", "StorageRead"]
    assert made["lake-blob-service"]["deleteRetentionPolicy"] == {"enabled": True, "days": 90}


def test_nothing_leaves_the_regions_that_governance_allows(declared: Declare) -> None:
    made = declared(stack="norway").resources
    for group in ("cluster", "lake"):
        allowed = made[f"governance-{group}-allowed-locations"]["parameters"]["listOfAllowedLocations"]["value"]
        assert allowed == ["norwayeast", "global"]
    assert {r["location"] for r in made.values() if "location" in r} == {"norwayeast", "global"}


def test_an_operators_path_becomes_a_condition_on_the_assignment(declared: Declare) -> None:
    made = declared(stack="prod").resources["identities-operator-vision-team-raw-write"]
    assert made["principalType"] == "Group" and made["conditionVersion"] == "2.0"
    assert "blobs:path] StringStartsWith 'vision/'" in made["condition"]


def test_no_assignment_is_above_a_container_and_no_identity_may_delete_what_it_trains_from(declared: Declare) -> None:
    made = declared(stack="prod").resources
    scopes = [r["scope"] for r in made.values() if "roleAssignmentName" in r]
    assert len(scopes) == 11 and all("/containers/" in scope for scope in scopes)
    actions = made["identities-append"]["permissions"][0]["dataActions"]
    assert not [a for a in actions if "delete" in a or a.endswith("*")]


def test_a_reason_lets_a_starving_cluster_through_and_is_kept(declared: Declare) -> None:
    starving = {"feed.compute_s": 0.0004}
    with pytest.raises(SettingsError, match="cannot be fed"):
        declared(starving)
    found = declared({**starving, "feed.starving_is_accepted_because": "a test of the scheduler"})
    assert found.contract["feed_plan"]["accepted_because"] == "a test of the scheduler"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (PARKED, "parked: no GPU nodes"),
        (SET, "StorageRead is logged: up to $"),
        (SET, "up to 15 hours"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_costs_more_than_it_looks_is_said_in_preview(declared: Declare, changes: Any, said: str) -> None:
    assert any(said in text for text in declared(changes).said)
