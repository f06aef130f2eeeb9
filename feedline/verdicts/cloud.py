"""Whether a subscription can hold the cluster, judged before anything is bought: by what ARM answers to questions."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.verdict import Status, Verdict

Rows = Mapping[str, Mapping[str, Any]]
WRITES = {
    "Microsoft.Compute/virtualMachines/write": "cluster",
    "Microsoft.Network/virtualNetworks/write": "cluster",
    "Microsoft.Storage/storageAccounts/write": "lake",
    "Microsoft.ManagedIdentity/userAssignedIdentities/write": "lake",
    "Microsoft.Authorization/roleAssignments/write": "lake",
    "Microsoft.Authorization/locks/write": "lake",
}
"""What `pulumi up` does, and in which of our groups; role assignments and locks are what a mere Contributor may not."""
PROVIDERS = (
    "Microsoft.Compute",
    "Microsoft.Network",
    "Microsoft.Storage",
    "Microsoft.ManagedIdentity",
    "Microsoft.OperationalInsights",
    "Microsoft.Insights",
)
"""What every cluster needs. Microsoft.Authorization and Microsoft.Consumption need no registration."""
REGIONAL = "cores"
"""The row of the vCPUs of all families together: a quota of its own (Microsoft Learn, "vCPU quotas")."""


@dataclass(frozen=True)
class Need:
    """So many machines of a size; `there` of them exist already and hold their cores."""

    size: str
    count: int
    there: int = 0


def judge_sizes(
    location: str, needs: Iterable[Need], skus: Sequence[Mapping[str, Any]], usages: Sequence[Mapping[str, Any]]
) -> list[Verdict]:
    """Given what is needed and ARM's lists of sizes and of usages in the location, judge offers and quotas.

    Sizes of one family share its quota, and all families share the region's. Shapes: Microsoft.Compute/skus (`name`,
    `family`, `capabilities`, `restrictions`) and …/locations/{}/usages (`name.value`, `currentValue`, `limit`), as
    Azure answers them.
    """
    offered = {str(sku["name"]).lower(): sku for sku in skus if sku.get("resourceType") == "virtualMachines"}
    found, by_family = [], dict[str, list[tuple[Need, int]]]()
    for need in needs:
        sku = offered.get(need.size.lower())
        if verdict := _not_offered(location, need, sku):
            found.append(verdict)
            continue
        assert sku is not None
        cores = next((int(c["value"]) for c in sku.get("capabilities") or [] if c["name"] == "vCPUs"), 0)
        by_family.setdefault(str(sku.get("family", "")), []).append((need, cores))
    rows = _by_name(usages)
    for family, those in by_family.items():
        what = " + ".join(f"{need.count} x {need.size}" for need, _ in those)
        more = sum(cores * max(need.count - need.there, 0) for need, cores in those)
        unknown = any(not cores for _, cores in those)
        found.append(_limit("quota", f"cores of {family}", what, more, {} if unknown else rows, family, location))
    if by_family:
        every = [(need, cores) for those in by_family.values() for need, cores in those]
        more = sum(cores * max(need.count - need.there, 0) for need, cores in every)
        found.append(_limit("quota", "cores of all families", "the cluster", more, rows, REGIONAL, location))
    return found


def judge_limits(location: str, needs: Mapping[str, int], usages: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Given how many more of each resource will be made (by its name in ARM's usages) and those usages, judge each."""
    rows = _by_name(usages)
    return [_limit("limit", name, "the cluster", more, rows, name, location) for name, more in needs.items()]


def _not_offered(location: str, need: Need, sku: Mapping[str, Any] | None) -> Verdict | None:
    # A restriction of type Zone closes zones only, and our machines name none.
    closed = [r for r in (sku or {}).get("restrictions") or [] if str(r.get("type", "Location")).lower() != "zone"]
    if sku is not None and not closed:
        return None
    why = ", ".join(str(r.get("reasonCode", "")) for r in closed) or "not listed"
    hint = f"another region or size, or ask Microsoft: az vm list-skus --location {location} --size {need.size} --all"
    text = f"{need.size} cannot be had in {location}: {why}"
    return Verdict("cloud", "size", need.size, Status.FAIL, "SIZE_NOT_OFFERED", text, hint)


def _by_name(usages: Sequence[Mapping[str, Any]]) -> Rows:
    return {str(row["name"]["value"]).lower(): row for row in usages}


def _limit(check: str, what: str, who: str, more: int, rows: Rows, name: str, location: str) -> Verdict:
    row = rows.get(name.lower())
    if row is None:
        text = f"{location} does not tell how many {what} it grants"
        return Verdict("cloud", check, name, Status.NOT_MEASURED, "UNKNOWN", text, "Quotas in the portal tells it")
    used, limit = int(row["currentValue"]), int(row["limit"])
    text = f"{who} needs {more} more {what} in {location}; {used} of {limit} are used"
    facts = {"name": name, "limit": limit, "used": used, "needed": more}
    if more and used + more > limit:
        hint = f"ask for {used + more}: az quota update --resource-name {name} --limit-object value={used + more} …"
        return Verdict("cloud", check, name, Status.FAIL, "QUOTA", text, hint, evidence=facts)
    return Verdict("cloud", check, name, Status.PASS, "OK", text, evidence=facts)


def judge_account(name: str, ours: bool, answer: Mapping[str, Any]) -> Verdict:
    """Given a storage account's name, whether it is ours already, and ARM's checkNameAvailability, judge the name."""
    if ours:
        return Verdict("cloud", "account", name, Status.PASS, "OK", f"{name} exists and is ours")
    if answer.get("nameAvailable"):
        return Verdict("cloud", "account", name, Status.PASS, "OK", f"the name {name} is free")
    hint = "another lake.account, or lake.adopt if it is yours"
    return Verdict("cloud", "account", name, Status.FAIL, "NAME_TAKEN", str(answer.get("message", "taken")), hint)


def judge_rights(permissions: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Verdict]:
    """Given the caller's permissions by place (`cluster`, `lake`), judge each thing that `pulumi up` does there."""
    found = []
    for action, place in WRITES.items():
        allowed = any(
            _matches(action, p.get("actions")) and not _matches(action, p.get("notActions"))
            for p in permissions.get(place, ())
        )
        text = f"you may {'' if allowed else 'not '}do {action}"
        hint = "" if allowed else "bootstrap's pipeline identity may; as a person: Contributor and RBAC Administrator"
        status, reason = (Status.PASS, "OK") if allowed else (Status.FAIL, "NO_RIGHT")
        found.append(Verdict("cloud", "rights", action, status, reason, text, hint))
    return found


def judge_providers(needed: Iterable[str], providers: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Given the resource providers that are needed and ARM's list of them, judge whether each is registered."""
    states = {str(p["namespace"]).lower(): str(p.get("registrationState", "")) for p in providers}
    found = []
    for name in needed:
        state = states.get(name.lower(), "NotRegistered")
        good = state in ("Registered", "RegistrationFree")
        status, reason = (Status.PASS, "OK") if good else (Status.FAIL, "NOT_REGISTERED")
        hint = "" if good else f"az provider register --namespace {name} --wait"
        found.append(Verdict("cloud", "provider", name, status, reason, f"{name}: {state}", hint))
    return found


def refused(check: str, subject: str, why: str) -> Verdict:
    """Given a question that ARM did not answer and its words, return the verdict: nothing is known, so no pass."""
    return Verdict(
        "cloud", check, subject, Status.NOT_MEASURED, "REFUSED", why, "Reader on the subscription may ask it"
    )


def not_asked(location: str) -> list[Verdict]:
    """Return what cannot be asked: it shows only when machines are made."""
    text = f"whether {location} has the machines now: Azure tells it only when they are made (AllocationFailed)"
    hint = "a region runs out, quota or not; `pulumi up` again makes only what is missing"
    return [Verdict("cloud", "capacity", location, Status.NOT_MEASURED, "NOT_ASKED", text, hint)]


def says_no(verdicts: Iterable[Verdict]) -> bool:
    """Return whether the answer is no: something failed, or could have been known and is not. What nobody can ask
    (NOT_ASKED) is told and does not count."""
    counted = [v.status for v in verdicts if v.reason != "NOT_ASKED"]
    return any(status in (Status.FAIL, Status.INVALID, Status.NOT_MEASURED) for status in counted)


def _matches(action: str, patterns: Iterable[str] | None) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns or ())
