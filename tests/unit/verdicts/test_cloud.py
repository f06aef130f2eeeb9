"""Whether a subscription can hold the cluster: offers, quota, names and rights, by ARM's own answers."""

from typing import Any

import pytest

from feedline.verdict import Status
from feedline.verdicts.cloud import WRITES, Need, judge_account, judge_rights, judge_sizes, not_asked

H100, FAMILY = "Standard_ND96isr_H100_v5", "standardNDSH100v5Family"
CORES = [{"name": "vCPUs", "value": "96"}, {"name": "RdmaEnabled", "value": "True"}]


def sku(*restrictions: str) -> dict[str, Any]:
    held = [{"type": "Location", "reasonCode": reason} for reason in restrictions]
    facts = {"resourceType": "virtualMachines", "name": H100, "family": FAMILY, "capabilities": CORES}
    return {**facts, "restrictions": held}


def usage(used: int, limit: int) -> dict[str, Any]:
    return {"name": {"value": FAMILY, "localizedValue": "x"}, "currentValue": used, "limit": limit, "unit": "Count"}


@pytest.mark.parametrize(
    ("used", "limit", "need", "status"),
    [
        (0, 768, Need(H100, 8), Status.PASS),
        (0, 767, Need(H100, 8), Status.FAIL),
        (768, 768, Need(H100, 8, there=8), Status.PASS),
        (96, 768, Need(H100, 8), Status.FAIL),
        (768, 768, Need(H100, 0), Status.PASS),
    ],
)
def test_the_quota_must_hold_what_is_still_missing(used: int, limit: int, need: Need, status: Status) -> None:
    (found,) = judge_sizes("eastus", [need], [sku()], [usage(used, limit)])
    assert (found.status, found.check) == (status, "quota")


def test_the_number_to_ask_for_is_told() -> None:
    (found,) = judge_sizes("eastus", [Need(H100, 8)], [sku()], [usage(96, 200)])
    assert (
        "need 768 more cores" in found.message and "96 of 200 are used" in found.message and "ask for 864" in found.hint
    )


@pytest.mark.parametrize("skus", [[], [sku("NotAvailableForSubscription")]], ids=["not listed", "restricted"])
def test_a_size_that_is_not_offered_says_why(skus: list[dict[str, Any]]) -> None:
    (found,) = judge_sizes("eastus", [Need(H100, 1)], skus, [usage(0, 999)])
    assert found.reason == "SIZE_NOT_OFFERED" and ("not listed" in found.message or "NotAvailable" in found.message)


def test_a_quota_nobody_tells_is_not_a_pass() -> None:
    (found,) = judge_sizes("eastus", [Need(H100, 1)], [sku()], [])
    assert found.status is Status.NOT_MEASURED


def test_a_name_is_free_ours_or_taken() -> None:
    taken = {"nameAvailable": False, "message": "The storage account named x is already taken."}
    found = [judge_account("x", ours, answer).status for ours, answer in ((False, {"nameAvailable": True}), (True, {}))]
    assert found == [Status.PASS, Status.PASS] and judge_account("x", False, taken).reason == "NAME_TAKEN"


def test_a_contributor_lacks_the_right_to_assign_roles_and_to_lock() -> None:
    contributor = {
        "actions": ["*"],
        "notActions": ["Microsoft.Authorization/*/Write", "Microsoft.Authorization/*/Delete"],
    }
    lacking = {v.subject for v in judge_rights([contributor]) if v.status is Status.FAIL}
    assert lacking == {"Microsoft.Authorization/roleAssignments/write", "Microsoft.Authorization/locks/write"}
    rbac = {"actions": ["Microsoft.Authorization/roleAssignments/*", "Microsoft.Authorization/locks/*"]}
    assert all(v.status is Status.PASS for v in judge_rights([contributor, rbac]))
    assert len(judge_rights([])) == len(WRITES)


def test_capacity_is_never_claimed() -> None:
    assert [v.status for v in not_asked("eastus")] == [Status.NOT_MEASURED]
