"""A refresh's events tell what somebody changed by hand, and nothing else."""

from typing import Any

from feedline.drift import Drifted, read

BEGIN = {"resourcePreEvent": {"metadata": {"op": "refresh", "type": "azure-native:a:B", "urn": "s::p::t::x"}}}
END = {"summaryEvent": {"result": "succeeded", "resourceChanges": {"same": 1}}}


def step(op: str, name: str, **details: bool) -> dict[str, Any]:
    diff = {key: {"diffKind": "update", "inputDiff": mine} for key, mine in details.items()}
    kind = "azure-native:storage:StorageAccount"
    urn = f"urn:pulumi:prod::feedline::{kind}::{name}"
    return {"resOutputsEvent": {"metadata": {"op": op, "type": kind, "urn": urn, "detailedDiff": diff}}}


def test_what_is_gone_comes_before_what_was_changed_and_tells_its_keys() -> None:
    found = read([BEGIN, BEGIN, step("update", "lake", allowSharedKeyAccess=True), step("delete", "other"), END])
    assert found.drifted == [
        Drifted("gone", "storage:StorageAccount", "other"),
        Drifted("changed", "storage:StorageAccount", "lake", ("allowSharedKeyAccess",)),
    ]
    assert (found.looked, found.result) == (2, "succeeded")


def test_what_azure_says_of_itself_is_no_drift() -> None:
    assert read([step("update", "lake", provisioningState=False), step("refresh", "lake"), END]).drifted == []


def test_a_change_without_details_is_not_hidden() -> None:
    assert [one.name for one in read([step("update", "lake"), END]).drifted] == ["lake"]


def test_a_refresh_that_did_not_end_is_told_with_its_errors() -> None:
    error = {"diagnosticEvent": {"severity": "error", "message": "AuthorizationFailed: no\n"}}
    found = read([BEGIN, error])
    assert found.result == "it did not end" and found.errors == ["AuthorizationFailed: no"]
