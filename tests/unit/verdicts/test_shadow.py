"""Storage outside the approved places is a finding; our seal in it makes it a copy; what is closed is not known."""

from typing import Any

from feedline.contract import Contract
from feedline.verdict import Status
from feedline.verdicts.cloud import says_no
from feedline.verdicts.shadow import Seen, judge, outside, seals
from tests.shared.small_cluster import CONTRACT

CLUSTER = Contract.parse(CONTRACT)


def account(name: str, group: str, **tags: str) -> dict[str, Any]:
    rid = f"/subscriptions/0/resourceGroups/{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    return {"id": rid, "name": name, "location": "westus", "tags": tags}


def reasons(*accounts: dict[str, Any], **seen: Seen) -> dict[str, str]:
    found = judge(CLUSTER, accounts, seen)
    return {v.subject: v.reason for v in found if v.check in ("account", "copy")}


def test_the_clusters_own_accounts_are_approved_wherever_they_were_named() -> None:
    lake = {**account("lake", "elsewhere"), "id": "/LAKE"}
    assert reasons(lake, account("hot01", "RG-small-hot")) == {"lake": "OK", "hot01": "OK"}


def test_another_clusters_account_is_its_own_only_with_its_group_and_its_tag() -> None:
    found = reasons(
        account("a", "rg-dev-lake", feedline="dev"),
        account("b", "rg-dev-lake"),
        account("c", "rg-web", feedline="dev"),
        account("d", "rg-feedline-bootstrap", feedline="bootstrap"),
        account("e", "rg-smaller-lake"),
    )
    assert found == {"a": "OK", "b": "OUTSIDE", "c": "OUTSIDE", "d": "OK", "e": "OUTSIDE"}


def test_a_tag_approves_and_its_reason_is_told() -> None:
    tagged = account("logs", "rg-web", **{"feedline-approved": "web team, access logs"})
    (found,) = judge(CLUSTER, [tagged], {})
    assert found.status is Status.PASS and "web team, access logs" in found.message
    assert reasons(account("x", "rg-web", **{"feedline-approved": " "})) == {"x": "OUTSIDE"}


def test_any_account_outside_says_no_and_none_says_yes() -> None:
    assert says_no(judge(CLUSTER, [account("logs", "rg-web")], {"logs": Seen((), looked=True)}))
    assert not says_no(judge(CLUSTER, [account("lake2", "rg-small-lake")], {}))
    assert [one["name"] for one in outside(CLUSTER, [account("z", "rg"), account("a", "rg")])] == ["a", "z"]


def test_a_container_like_the_lakes_or_the_data_sets_is_a_likely_copy() -> None:
    found = reasons(
        account("a", "rg"), account("b", "rg"), a=Seen(("training-data", "x")), b=Seen(("shards-v1",), looked=True)
    )
    assert found == {"a": "LIKELY_COPY", "b": "LIKELY_COPY"}


def test_our_seal_makes_it_a_copy_whatever_the_container_is_called() -> None:
    assert seals(CLUSTER) == ("shards-v1/_feedline/seal.json", "_feedline/seal.json")
    found = judge(CLUSTER, [account("a", "rg")], {"a": Seen(("x",), ("x/_feedline/seal.json",), looked=True)})
    assert [v.reason for v in found] == ["COPY"] and "x/_feedline/seal.json" in found[0].message


def test_what_is_closed_is_not_measured_and_never_claimed() -> None:
    closed = {"a": Seen(None, why_not="AuthorizationFailed: no"), "b": Seen(("x",)), "c": Seen(("x",), looked=True)}
    found = judge(CLUSTER, [account(name, "rg") for name in "abc"], closed)
    unknown = {v.subject: v.check for v in found if v.status is Status.NOT_MEASURED}
    assert unknown == {"a": "containers", "b": "content"}
    assert any("AuthorizationFailed" in v.message for v in found)
