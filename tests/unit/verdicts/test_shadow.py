"""Storage outside the approved places is a finding; a container like the lake's is a likely copy."""

from typing import Any

from feedline.contract import Contract
from feedline.verdict import Status, worst
from feedline.verdicts.shadow import judge
from tests.shared.small_cluster import CONTRACT

CLUSTER = Contract.parse(CONTRACT)


def account(name: str, group: str, **more: Any) -> dict[str, Any]:
    rid = f"/subscriptions/0/resourceGroups/{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    return {"id": rid, "name": name, "location": "westus", **more}


def statuses(*accounts: dict[str, Any], **containers: list[str]) -> dict[str, Status]:
    return {v.subject: v.status for v in judge(CLUSTER, accounts, containers) if v.check != "content"}


def test_the_clusters_own_accounts_are_approved_wherever_they_were_named() -> None:
    lake = {**account("lake", "elsewhere"), "id": "/LAKE"}
    assert statuses(lake, account("hot01", "rg-small-hot")) == {"lake": Status.PASS, "hot01": Status.PASS}


def test_another_account_is_told_and_one_with_the_lakes_containers_is_a_failure() -> None:
    found = statuses(account("logs", "rg-web"), account("mine", "rg-web"), logs=["app"], mine=["training-data"])
    assert found == {"logs": Status.WARN, "mine": Status.FAIL}


def test_a_container_named_like_the_data_set_is_a_likely_copy() -> None:
    assert statuses(account("x", "rg-web"), x=["shards-v1"]) == {"x": Status.FAIL}


def test_another_clusters_group_is_not_ours_by_a_common_beginning() -> None:
    assert statuses(account("other", "rg-smaller-lake")) == {"other": Status.WARN}


def test_what_is_in_the_blobs_is_never_claimed() -> None:
    found = judge(CLUSTER, [], {})
    assert worst(v.status for v in found) is Status.NOT_MEASURED
