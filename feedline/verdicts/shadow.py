"""Shadow data: storage accounts, and copies of data sets, outside the places that were approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.contract import Contract
from feedline.names import CONTAINERS, SEAL_BLOB
from feedline.verdict import Status, Verdict

APPROVED_TAG = "feedline-approved"
"""A storage account with this tag is approved; the tag's value says by whom and why."""
BOOTSTRAP_GROUP = "rg-feedline-bootstrap"


@dataclass(frozen=True)
class Seen:
    """What could be seen of an account: the names of its containers (None: ARM refused), the seals of ours that were
    found in it, as container/blob, and whether every place where one could be was looked at."""

    containers: tuple[str, ...] | None
    seals: tuple[str, ...] = ()
    looked: bool = False
    why_not: str = ""


def outside(contract: Contract, accounts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Given the subscription's storage accounts as ARM lists them, return those that nobody approved, by name."""
    return sorted((one for one in accounts if not _approval(contract, one)), key=lambda one: str(one["name"]))


def seals(contract: Contract) -> tuple[str, ...]:
    """Given the contract, return the blobs by which a copy of its data set would be known, in any container."""
    return (f"{contract.workload.dataset}/{SEAL_BLOB}", SEAL_BLOB)


def judge(contract: Contract, accounts: Sequence[Mapping[str, Any]], seen: Mapping[str, Seen]) -> list[Verdict]:
    """Given the subscription's storage accounts as ARM lists them, and what was seen of those outside by name, judge
    every account.

    Approved are the contract's accounts, what lies in the groups of this or another Feedline cluster and carries its
    tag, and what is tagged `feedline-approved`. Any other account is a finding; one with our seal in it is a copy, one
    with a container named like the lake's, or like the data set, is likely one.
    """
    found = [
        Verdict("shadow", "account", str(one["name"]), Status.PASS, "OK", f"{one['name']} {why}")
        for one in sorted(accounts, key=lambda one: str(one["name"]))
        if (why := _approval(contract, one))
    ]
    for account in outside(contract, accounts):
        found += _finding(contract, account, seen.get(str(account["name"]), Seen(None)))
    return found


def _approval(contract: Contract, account: Mapping[str, Any]) -> str:
    """Return why an account is approved, or "" where it is not."""
    rid, tags = str(account["id"]).lower(), account.get("tags") or {}
    group, owner = rid.split("/")[4] if rid.count("/") > 4 else "", str(tags.get("feedline", "")).lower()
    if rid in {one.resource_id.lower() for one in contract.accounts} or group in _groups(contract.cluster):
        return "is the cluster's own"
    if owner and (group in _groups(owner) or group == BOOTSTRAP_GROUP):
        return f"belongs to {owner}"
    return f"is approved: {tags[APPROVED_TAG]}" if str(tags.get(APPROVED_TAG, "")).strip() else ""


def _groups(cluster: str) -> tuple[str, ...]:
    return tuple(f"rg-{cluster.lower()}{tail}" for tail in ("", "-lake", "-hot"))


def _finding(contract: Contract, account: Mapping[str, Any], seen: Seen) -> list[Verdict]:
    name = str(account["name"])
    where = f"{name} in {account.get('location', 'an unknown region')} ({account['id'].split('/')[4]})"
    likely = sorted({*CONTAINERS, contract.workload.dataset} & set(seen.containers or ()))
    facts = {"tags": dict(account.get("tags") or {}), "containers": list(seen.containers or ())}
    delete = "whose is it? Delete the copy, or bring its account into the cluster (lake.replicas)"
    if seen.seals:
        text = f"{where} holds a sealed data set: {', '.join(seen.seals)}"
        verdict = Verdict("shadow", "copy", name, Status.FAIL, "COPY", text, delete, evidence=facts)
    elif likely:
        text = f"{where} has containers like the lake's: {', '.join(likely)}"
        verdict = Verdict("shadow", "copy", name, Status.FAIL, "LIKELY_COPY", text, delete, evidence=facts)
    else:
        hint = f"if it is meant to be there, its owner tags it: az tag update … --tags {APPROVED_TAG}='who, why'"
        text = f"{where} is outside the approved places"
        verdict = Verdict("shadow", "account", name, Status.FAIL, "OUTSIDE", text, hint, evidence=facts)
    return [verdict, *_unseen(name, seen)]


def _unseen(name: str, seen: Seen) -> list[Verdict]:
    if seen.containers is None:
        text = f"which containers {name} has: {seen.why_not or 'ARM did not tell'}"
        hint = "Reader on the account may list them"
        return [Verdict("shadow", "containers", name, Status.NOT_MEASURED, "REFUSED", text, hint)]
    if not seen.looked and not seen.seals:
        text = f"whether {name} holds a data set under another name: {seen.why_not or 'its data plane is closed'}"
        hint = "Storage Blob Data Reader, from a network the account lets in, may look"
        return [Verdict("shadow", "content", name, Status.NOT_MEASURED, "NOT_ASKED", text, hint)]
    return []
