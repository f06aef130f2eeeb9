"""The questions of the RBAC gate follow from the grants."""

import pytest

from feedline.contract import Account, Contract, Grant, Identity, Ssh, Workload
from feedline.plans.access import probes


def contract(*grants: Grant) -> tuple[Contract, Identity]:
    account = Account(
        "acct",
        "/id",
        True,
        "blob",
        "https://acct.blob.core.windows.net",
        "",
        "internal",
        ("raw", "training-data", "checkpoints"),
    )
    who = Identity("train", "c", "p", "/i", grants)
    work = Workload("w", 1, 1, 0.1, 8, 0.9, 1.2, 2, "v1", 1, "test")
    return Contract(
        1, "sandbox", "sandbox", "c", "l", "s", (account,), (who,), (), Ssh("u", "direct", None, None), (), work, {}
    ), who


def asked(*grants: Grant) -> set[str]:
    return {probe.title for probe in probes(*contract(*grants))}


def test_a_reader_may_list_and_must_not_write() -> None:
    titles = asked(Grant("acct", "training-data", "read"))
    assert {"train may list training-data", "train must not write training-data"} <= titles


def test_an_appender_must_not_delete() -> None:
    assert {"train may write checkpoints", "train must not delete checkpoints"} <= asked(
        Grant("acct", "checkpoints", "append")
    )


def test_a_container_without_a_grant_must_refuse_both_reading_and_writing() -> None:
    assert {"train must not list raw", "train must not write raw"} <= asked()


def test_an_access_this_release_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="superpower"):
        asked(Grant("acct", "raw", "superpower"))
