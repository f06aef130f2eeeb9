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
            here = here[parent]
        here[last] = value
    try:
        Settings.parse(raw)
    except SettingsError as error:
        return str(error)
    return ""


def test_good_settings_are_taken_and_fill_in_what_was_left_out() -> None:
    settings = Settings.parse(GOOD)
    assert settings.nodes.admin_user == "azureuser" and settings.network.access == "vpn" and settings.ingest.size


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
        ("nodes.count", 201, "availability set takes 200"),
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


def test_confidential_data_is_not_copied_to_the_paired_region() -> None:
    assert "swedensouth" in told(("lake.redundancy", "GRS"), ("lake.classification", "confidential"))


def test_a_whole_number_that_pulumi_carries_as_a_double_is_a_whole_number() -> None:
    raw = deepcopy(GOOD)
    raw["nodes"]["count"] = 2.0
    assert Settings.parse(raw).nodes.count == 2


def test_the_workload_takes_its_numbers_from_the_catalogue() -> None:
    workload = Settings.parse(GOOD).workload
    assert workload.demand_bytes_per_s == pytest.approx(8 * 114_660 * 400 / 0.224) and "mlcommons" in workload.source
