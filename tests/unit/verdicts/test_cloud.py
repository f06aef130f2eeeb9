"""Whether a subscription can hold the cluster: offers, quota, names and rights, by ARM's own answers."""

from typing import Any

import pytest

from feedline.verdict import Status
from feedline.verdicts.cloud import (
    PROVIDERS,
    WRITES,
    Need,
    judge_account,
    judge_limits,
    judge_providers,
    judge_rights,
    judge_sizes,
    not_asked,
    refused,
    says_no,
)

H100, FAMILY = "Standard_ND96isr_H100_v5", "standardNDSH100v5Family"
CORES = [{"name": "vCPUs", "value": "96"}, {"name": "RdmaEnabled", "value": "True"}]


def sku(*restrictions: str, kind: str = "Location", name: str = H100) -> dict[str, Any]:
    held = [{"type": kind, "reasonCode": reason} for reason in restrictions]
    facts = {"resourceType": "virtualMachines", "name": name, "family": FAMILY, "capabilities": CORES}
    return {**facts, "restrictions": held}


def usage(used: int, limit: int, name: str = FAMILY) -> dict[str, Any]:
    return {"name": {"value": name, "localizedValue": "x"}, "currentValue": used, "limit": limit, "unit": "Count"}


def usages(used: int, limit: int, regional: int = 9999) -> list[dict[str, Any]]:
    return [usage(used, limit), usage(used, regional, "cores")]


@pytest.mark.parametrize(
    ("used", "limit", "need", "status"),
    [
        (0, 768, Need(H100, 8), Status.PASS),
        (0, 767, Need(H100, 8), Status.FAIL),
        (768, 768, Need(H100, 8, there=8), Status.PASS),
        (96, 768, Need(H100, 8), Status.FAIL),
        (768, 768, Need(H100, 0), Status.PASS),
        (800, 768, Need(H100, 0), Status.PASS),  # lowered below what is used: a parked cluster takes nothing
    ],
)
def test_the_quota_must_hold_what_is_still_missing(used: int, limit: int, need: Need, status: Status) -> None:
    found = judge_sizes("eastus", [need], [sku()], usages(used, limit))
    assert [(v.status, v.check, v.subject) for v in found] == [
        (status, "quota", FAMILY),
        (Status.PASS, "quota", "cores"),
    ]


def test_the_number_to_ask_for_is_told() -> None:
    found = judge_sizes("eastus", [Need(H100, 8)], [sku()], usages(96, 200))[0]
    assert (
        "needs 768 more cores" in found.message
        and "96 of 200 are used" in found.message
        and "ask for 864" in found.hint
    )


def test_the_regions_own_quota_counts_all_families_together() -> None:
    family, region = judge_sizes("eastus", [Need(H100, 8)], [sku()], usages(0, 768, regional=700))
    assert (family.status, region.status, region.subject) == (Status.PASS, Status.FAIL, "cores")


def test_two_sizes_of_one_family_share_its_quota() -> None:
    both = [Need(H100, 4), Need("Standard_Other", 4)]
    found = judge_sizes("eastus", both, [sku(), sku(name="Standard_Other")], usages(0, 500))
    assert found[0].reason == "QUOTA" and "4 x Standard_ND96isr_H100_v5 + 4 x Standard_Other" in found[0].message


@pytest.mark.parametrize("skus", [[], [sku("NotAvailableForSubscription")]], ids=["not listed", "restricted"])
def test_a_size_that_is_not_offered_says_why(skus: list[dict[str, Any]]) -> None:
    (found,) = judge_sizes("eastus", [Need(H100, 1)], skus, usages(0, 999))
    assert found.reason == "SIZE_NOT_OFFERED" and ("not listed" in found.message or "NotAvailable" in found.message)


def test_a_closed_zone_does_not_close_the_region() -> None:
    found = judge_sizes("eastus", [Need(H100, 1)], [sku("NotAvailableForSubscription", kind="Zone")], usages(0, 999))
    assert [v.status for v in found] == [Status.PASS, Status.PASS]


def test_a_quota_nobody_tells_is_not_a_pass() -> None:
    assert {v.status for v in judge_sizes("eastus", [Need(H100, 1)], [sku()], [])} == {Status.NOT_MEASURED}


def test_what_a_region_counts_must_hold_what_will_be_made() -> None:
    rows = [usage(250, 250, "StorageAccounts"), usage(3, 1000, "VirtualNetworks")]
    found = judge_limits("eastus", {"StorageAccounts": 1, "VirtualNetworks": 1, "Unheard": 1}, rows)
    assert [v.status for v in found] == [Status.FAIL, Status.PASS, Status.NOT_MEASURED]
    assert judge_limits("eastus", {"StorageAccounts": 0}, rows)[0].status is Status.PASS


def test_a_provider_that_is_not_registered_comes_with_the_command() -> None:
    states = dict.fromkeys(PROVIDERS, "Registered") | {"Microsoft.Insights": "Registering"}
    listed = [{"namespace": name.lower(), "registrationState": state} for name, state in states.items()]
    bad = [v for v in judge_providers(PROVIDERS, listed) if v.status is Status.FAIL]
    assert [v.hint for v in bad] == ["az provider register --namespace Microsoft.Insights --wait"]


def test_what_could_be_known_and_is_not_says_no_and_what_nobody_can_ask_does_not() -> None:
    assert not says_no(not_asked("eastus")) and says_no([refused("quota", "eastus", "AuthorizationFailed: no")])


def test_a_name_is_free_ours_or_taken() -> None:
    taken = {"nameAvailable": False, "message": "The storage account named x is already taken."}
    found = [judge_account("x", ours, answer).status for ours, answer in ((False, {"nameAvailable": True}), (True, {}))]
    assert found == [Status.PASS, Status.PASS] and judge_account("x", False, taken).reason == "NAME_TAKEN"


def test_a_contributor_lacks_the_right_to_assign_roles_and_to_lock() -> None:
    contributor = {
        "actions": ["*"],
        "notActions": ["Microsoft.Authorization/*/Write", "Microsoft.Authorization/*/Delete"],
    }
    lacking = {v.subject for v in judge_rights(everywhere(contributor)) if v.status is Status.FAIL}
    assert lacking == {"Microsoft.Authorization/roleAssignments/write", "Microsoft.Authorization/locks/write"}
    rbac = {"actions": ["Microsoft.Authorization/roleAssignments/*", "Microsoft.Authorization/locks/*"]}
    assert all(v.status is Status.PASS for v in judge_rights(everywhere(contributor, rbac)))
    assert len(judge_rights({})) == len(WRITES)


def test_a_right_counts_only_in_the_group_where_it_is_needed() -> None:
    found = {v.subject: v.status for v in judge_rights({"cluster": [{"actions": ["*"]}], "lake": []})}
    assert found["Microsoft.Compute/virtualMachines/write"] is Status.PASS
    assert found["Microsoft.Storage/storageAccounts/write"] is Status.FAIL


def everywhere(*permissions: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {"cluster": list(permissions), "lake": list(permissions)}


def test_capacity_is_never_claimed() -> None:
    assert [v.status for v in not_asked("eastus")] == [Status.NOT_MEASURED]
