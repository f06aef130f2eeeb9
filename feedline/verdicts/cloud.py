"""Whether a subscription can hold the cluster, judged before anything is bought: by what ARM answers to questions."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.verdict import Status, Verdict

WRITES = (
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Storage/storageAccounts/write",
    "Microsoft.ManagedIdentity/userAssignedIdentities/write",
    "Microsoft.Authorization/roleAssignments/write",
    "Microsoft.Authorization/locks/write",
)
"""What `pulumi up` does; role assignments and locks are what a mere Contributor may not."""


@dataclass(frozen=True)
class Need:
    """So many machines of a size; `there` of them exist already and hold their cores."""

    size: str
    count: int
    there: int = 0


def judge_sizes(
    location: str, needs: Iterable[Need], skus: Sequence[Mapping[str, Any]], usages: Sequence[Mapping[str, Any]]
) -> list[Verdict]:
    """Given what is needed and ARM's lists of sizes and of usages in the location, judge offer and quota.

    Shapes: Microsoft.Compute/skus (`name`, `family`, `capabilities`, `restrictions`) and …/locations/{}/usages
    (`name.value`, `currentValue`, `limit`), as Azure answers them.
    """
    offered = {str(sku["name"]).lower(): sku for sku in skus if sku.get("resourceType") == "virtualMachines"}
    used = {str(u["name"]["value"]).lower(): u for u in usages}
    found = []
    for need in needs:
        sku = offered.get(need.size.lower())
        if sku is None or sku.get("restrictions"):
            why = ", ".join(str(r.get("reasonCode", "")) for r in (sku or {}).get("restrictions") or []) or "not listed"
            hint = "another region or size, or ask Microsoft: az vm list-skus --location REGION --size SIZE --all"
            text = f"{need.size} cannot be had in {location}: {why}"
            found.append(Verdict("cloud", "size", need.size, Status.FAIL, "SIZE_NOT_OFFERED", text, hint))
            continue
        found.append(_quota(location, need, sku, used))
    return found


def _quota(location: str, need: Need, sku: Mapping[str, Any], used: Mapping[str, Mapping[str, Any]]) -> Verdict:
    family = str(sku.get("family", ""))
    cores = next((int(c["value"]) for c in sku.get("capabilities") or [] if c["name"] == "vCPUs"), 0)
    row = used.get(family.lower())
    if row is None or not cores:
        text = f"{location} tells no quota of family {family or 'unknown'}"
        return Verdict("cloud", "quota", need.size, Status.NOT_MEASURED, "UNKNOWN", text, "az vm list-usage")
    more = cores * max(need.count - need.there, 0)
    free = int(row["limit"]) - int(row["currentValue"])
    text = (
        f"{need.count} x {need.size} need {more} more cores of {family} in {location}; "
        f"{row['currentValue']} of {row['limit']} are used"
    )
    facts = {"family": family, "limit": row["limit"], "used": row["currentValue"], "needed": more}
    if more > free:
        hint = f"ask for {int(row['currentValue']) + more} in the portal (Quotas) or with az quota update"
        return Verdict("cloud", "quota", need.size, Status.FAIL, "QUOTA", text, hint, evidence=facts)
    return Verdict("cloud", "quota", need.size, Status.PASS, "OK", text, evidence=facts)


def judge_account(name: str, ours: bool, answer: Mapping[str, Any]) -> Verdict:
    """Given a storage account's name, whether it is ours already, and ARM's checkNameAvailability, judge the name."""
    if ours:
        return Verdict("cloud", "account", name, Status.PASS, "OK", f"{name} exists and is ours")
    if answer.get("nameAvailable"):
        return Verdict("cloud", "account", name, Status.PASS, "OK", f"the name {name} is free")
    hint = "another lake.account, or lake.adopt if it is yours"
    return Verdict("cloud", "account", name, Status.FAIL, "NAME_TAKEN", str(answer.get("message", "taken")), hint)


def judge_rights(permissions: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Given the caller's permissions at the subscription, judge each thing that `pulumi up` does."""
    found = []
    for action in WRITES:
        allowed = any(
            _matches(action, p.get("actions")) and not _matches(action, p.get("notActions")) for p in permissions
        )
        text = f"you may {'' if allowed else 'not '}do {action}"
        hint = "" if allowed else "bootstrap's pipeline identity may; as a person: Contributor and RBAC Administrator"
        status, reason = (Status.PASS, "OK") if allowed else (Status.FAIL, "NO_RIGHT")
        found.append(Verdict("cloud", "rights", action, status, reason, text, hint))
    return found


def not_asked(location: str) -> list[Verdict]:
    """Return what cannot be asked: it shows only when machines are made."""
    text = f"whether {location} has the machines now: Azure tells it only when they are made (AllocationFailed)"
    hint = "a region runs out, quota or not; `pulumi up` again makes only what is missing"
    return [Verdict("cloud", "capacity", location, Status.NOT_MEASURED, "NOT_ASKED", text, hint)]


def _matches(action: str, patterns: Iterable[str] | None) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns or ())
