"""The settings say every mistake at once, with its path and a hint."""

from copy import deepcopy
from typing import Any

import pytest

from feedline.errors import SettingsError
from feedline.settings import SANDBOX_SUBSCRIPTION, Settings

GOOD: dict[str, Any] = {
    "environment": "dev",
    "cluster": "feedline-dev",
    "location": "swedencentral",
    "subscription_id": "3f1a2b4c-0001-4d5e-8f60-000000000001",
    "network": {"cidr": "10.41.0.0/16"},
    "lake": {"account": "feedlinedev01"},
    "nodes": {
        "count": 2,
        "size": "Standard_ND96isr_H100_v5",
        "image": "a:b:c:1.0",
        "ssh_public_key": "ssh-ed25519 AAAA x",
    },
    "packages": {"source": "deb https://packages.example noble main"},
    "feed": {"profile": "resnet50", "dataset": "v1", "dataset_bytes": 10**12},
}


def told(*changes: tuple[str, Any]) -> str:
    """Return what is said about the good settings after these changes (dotted path, value)."""
    raw = deepcopy(GOOD)
    for path, value in changes:
        *parents, last = path.split(".")
        here = raw
        for parent in parents:
            here = here.setdefault(parent, {})
        here[last] = value
    try:
        Settings.parse(raw)
    except SettingsError as error:
        return str(error)
    return ""


def test_good_settings_are_taken_and_fill_in_what_was_left_out() -> None:
    settings = Settings.parse(GOOD)
    assert settings.nodes.admin_user == "azureuser" and settings.network.access == "vpn"
    assert settings.ingest_size == "Standard_D4s_v5" and settings.regions == ("swedencentral",)


def test_five_mistakes_are_told_in_one_message() -> None:
    text = told(
        ("environment", "devv"),
        ("network.cidr", "10.0.0.0/28"),
        ("lake.account", "Bad_Name"),
        ("nodes.count", -1),
        ("feed.dataset_bytes", "lots"),
    )
    assert text.startswith("5 problems, nothing was changed:")
    for path in ("environment", "network.cidr", "lake.account", "nodes.count", "feed.dataset_bytes"):
        assert f"feedline:{path}: " in text


def test_an_unknown_key_is_refused_with_the_nearest_name() -> None:
    assert "feedline:nodes.cuont: unknown key (hint: count?)" in told(("nodes.cuont", 3))


def test_a_missing_key_is_named_with_an_example() -> None:
    raw = {key: value for key, value in GOOD.items() if key != "cluster"}
    with pytest.raises(SettingsError, match="feedline:cluster: missing"):
        Settings.parse(raw)


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("network.cidr", "172.16.0.0/12", "RDMA"),
        ("nodes.count", 201, "201 is more than availability_set takes, 200"),
        ("nodes.size", "Standard_ND96isr_H100_v4", "Standard_ND96isr_H100_v5"),
        ("nodes.size", "Standard_ND128isr_GB300_v6", "unproven: true"),
        ("nodes.image", "a:b:c:latest", "pin a version"),
        ("nodes.ssh_public_key_file", "also.pub", "exactly one of"),
        ("feed.profile", "custom", "needs record_bytes, batch, compute_s"),
        ("feed.batch", 4, "belong to profile custom"),
        ("subscription_id", SANDBOX_SUBSCRIPTION, "only the sandbox's"),
        ("network.access", "command", "sandbox's way in"),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_the_reason(path: str, value: Any, text: str) -> None:
    assert text in told((path, value))


HUB = "/subscriptions/s/resourceGroups/hub/providers/Microsoft.Network"
EXISTING = {
    "vnet_id": f"{HUB}/virtualNetworks/hub",
    **{
        name: {"id": f"{HUB}/virtualNetworks/hub/subnets/{name}", "prefix": f"10.8.{index}.0/24"}
        for index, name in enumerate(("nodes", "endpoints", "ingest"), 1)
    },
    "blob_zone_id": f"{HUB}/privateDnsZones/privatelink.blob.core.windows.net",
    "dfs_zone_id": f"{HUB}/privateDnsZones/privatelink.dfs.core.windows.net",
}
LUSTRE = {
    "kind": "lustre",
    "account": "hot01",
    "tib": 16,
    "provider_object_id": "6f1d2c0e-0000-4000-8000-000000000002",
    "exception_reason": "epochs of small random reads",
    "exception_until": "2027-03-01",
}
OPERATOR = {"name": "vision", "object_id": "6f1d2c0e-0000-4000-8000-000000000001", "container": "raw"}
VAULT = {"vault_id": "/subscriptions/s/resourceGroups/r/providers/Microsoft.KeyVault/vaults/v", "name": "lake"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([("nodes.placement", "flexible")], "no InfiniBand for RDMA sizes (hint: uniform"),
        ([("nodes.placement", "uniform"), ("nodes.count", 101)], "101 is more than uniform takes, 100"),
        ([("nodes.capacity_reservation", "x")], "nodes.capacity_reservation: unknown key"),
        ([("network.peers", [{"cidr": "10.41.128.0/20"}])], "overlaps network.cidr 10.41.0.0/16"),
        (
            [("network.existing", {**EXISTING, "dfs_zone_id": EXISTING["blob_zone_id"]})],
            "is not the zone privatelink.dfs",
        ),
        ([("network.existing", EXISTING), ("network.access", "bastion")], "the hub brings its own Bastion"),
        ([("network.existing", EXISTING), ("hot_tier", LUSTRE)], "lustre needs a subnet of its own"),
        ([("lake.classification", "restricted")], "needs a customer-managed key"),
        ([("lake.classification", "restricted")], "governance.allowed_regions: restricted data needs them named"),
        ([("lake.classification", "restricted")], "restricted data is not reached by vpn (hint: bastion)"),
        ([("lake.redundancy", "GRS"), ("governance.allowed_regions", ["swedencentral"])], "does not allow (hint: ZRS)"),
        ([("governance.allowed_regions", ["norwayeast"])], "swedencentral is not in governance.allowed_regions"),
        ([("governance.allowed_regions", ["norwyeast"])], "no region we know (hint: norwayeast)"),
        ([("lake.lifecycle", [{"container": "checkpoints", "days": 9, "to": "delete"}])], "pruned by count"),
        (
            [("lake.lifecycle", [{"container": "training-data", "days": 9, "to": "cool", "by": "age"}])],
            "written once and read for years (hint: last_access)",
        ),
        ([("lake.worm", [{"container": "checkpoints", "days": 9}])], "is not one of raw, models, artifacts"),
        ([("lake.replicas", ["feedlinedev01"])], "an account is named twice"),
        ([("lake.replicas", ["No"])], "has 'No', which is not valid"),
        ([("lake.adopt", f"{HUB}/storageAccounts/other")], "is the account other, not feedlinedev01"),
        ([("hot_tier", {"kind": "premium_blob"})], "needs a storage account of its own"),
        ([("hot_tier", {**LUSTRE, "tib": 10})], "comes in steps of 8 TiB"),
        ([("hot_tier", {**LUSTRE, "account": "feedlinedev01"})], "is the lake's"),
        ([("hot_tier", {**LUSTRE, "exception_until": ""})], "give exception_reason and exception_until"),
        ([("operators", [OPERATOR, {**OPERATOR, "prefix": "a/"}])], "one assignment of a role per principal and scope"),
        ([("operators", [{**OPERATOR, "prefix": "a"}])], "a path that ends with '/'"),
        (
            [("operators", [OPERATOR, {**OPERATOR, "object_id": OPERATOR["object_id"][:-1] + "2"}])],
            "another operator is called vision there already",
        ),
        ([("observability.budget_usd", 5)], "a budget needs the day it starts"),
        ([("observability.budget_start", "2026-12-02")], "is not the first of a month"),
        ([("observability.emails", ["nobody"])], "has 'nobody', which is not valid"),
        ([("location", "swedncentral")], "no region we know (hint: swedencentral)"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_keys_that_do_not_fit_together_are_refused_with_the_reason(changes: Any, text: str) -> None:
    assert text in told(*changes)


@pytest.mark.parametrize(
    "changes",
    [
        [("network.existing", EXISTING), ("network.access", "jump")],
        [("network.peers", [{"cidr": "10.8.0.0/16", "vnet_id": EXISTING["vnet_id"]}])],
        [("nodes.placement", "uniform"), ("nodes.count", 300), ("nodes.larger_placement_group", True)],
        [("hot_tier", LUSTRE)],
        [("operators", [OPERATOR, {**OPERATOR, "access": "write", "prefix": "a/"}])],
        [
            ("lake.classification", "restricted"),
            ("lake.key", VAULT),
            ("network.access", "bastion"),
            ("governance.allowed_regions", ["swedencentral"]),
        ],
    ],
    ids=lambda value: str(value)[:40],
)
def test_combinations_that_work_are_taken(changes: Any) -> None:
    assert told(*changes) == ""


def test_nodes_of_a_hub_take_their_addresses_from_the_hubs_subnet() -> None:
    raw = deepcopy(GOOD)
    raw["network"] = {"cidr": "10.8.0.0/16", "access": "jump", "existing": EXISTING}
    settings = Settings.parse(raw)
    assert str(settings.network.subnet(settings.nodes_subnet)) == "10.8.1.0/24"


def test_confidential_data_is_not_copied_to_the_paired_region() -> None:
    assert "swedensouth" in told(("lake.redundancy", "GRS"), ("lake.classification", "confidential"))


def test_a_whole_number_that_pulumi_carries_as_a_double_is_a_whole_number() -> None:
    raw = deepcopy(GOOD)
    raw["nodes"]["count"] = 2.0
    assert Settings.parse(raw).nodes.count == 2


def test_the_workload_takes_its_numbers_from_the_catalogue() -> None:
    workload = Settings.parse(GOOD).workload
    assert workload.demand_bytes_per_s == pytest.approx(8 * 114_660 * 400 / 0.224) and "mlcommons" in workload.source


def test_a_missing_subscription_is_told_outside_the_sandbox_too() -> None:
    raw = {key: value for key, value in GOOD.items() if key != "subscription_id"}
    with pytest.raises(SettingsError, match="azure-native:subscriptionId: missing"):
        Settings.parse(raw)


def test_peers_do_not_change_how_many_nodes_find_room() -> None:
    many = [("nodes.count", 300), ("nodes.placement", "uniform"), ("nodes.larger_placement_group", True)]
    assert told(*many, ("network.peers", [{"cidr": "10.8.0.0/16"}, {"cidr": "10.9.0.0/16"}])) == ""
    assert "do not fit 10.41.1.0/24" in told(("nodes.count", 250), ("network.peers", [{"cidr": "10.8.0.0/16"}]))
