"""Asking Azure before and beside a cluster: what `doctor --cloud` and `cluster.shadow` do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from feedline.settings import Settings
from feedline.verdict import Status, Verdict, worst
from feedline.verdicts import cloud
from scripts.arm import Arm
from scripts.screen import STYLES, Screen

STORAGE = "Microsoft.Storage/storageAccounts"


def ask(arm: Arm, settings: Settings) -> list[Verdict]:
    """Given the way to ARM and a stack's settings, ask what can be asked before `pulumi up`, and judge it."""
    subscription, location = f"/subscriptions/{settings.subscription_id}", settings.location
    compute = f"{subscription}/providers/Microsoft.Compute"
    needs = [
        cloud.Need(settings.nodes.size, settings.nodes.count, _there(arm, settings)),
        cloud.Need(settings.ingest_size, 1, int(arm.get(f"{_group(settings)}/{_VM}/ingest-0") is not None)),
    ]
    skus = list(arm.list(f"{compute}/skus", **{"$filter": f"location eq '{location}'"}))
    found = cloud.judge_sizes(location, needs, skus, list(arm.list(f"{compute}/locations/{location}/usages")))
    for account in settings.accounts:
        ours = arm.get(f"{_group(settings)}-lake/providers/{STORAGE}/{account}") is not None
        body = {"name": account, "type": STORAGE}
        answer = (
            {}
            if ours
            else arm.change("POST", f"{subscription}/providers/Microsoft.Storage/checkNameAvailability", body)
        )
        found.append(cloud.judge_account(account, ours, answer))
    permissions = list(arm.list(f"{subscription}/providers/Microsoft.Authorization/permissions"))
    return [*found, *cloud.judge_rights(permissions), *cloud.not_asked(location)]


_VM = "providers/Microsoft.Compute/virtualMachines"


def _group(settings: Settings) -> str:
    return f"/subscriptions/{settings.subscription_id}/resourceGroups/rg-{settings.cluster}"


def _there(arm: Arm, settings: Settings) -> int:
    """How many of the cluster's GPU nodes exist: their cores are used by us."""
    group = _group(settings)
    if arm.get(group) is None:
        return 0
    size = settings.nodes.size.lower()
    vms = [vm for vm in arm.list(f"{group}/{_VM}") if vm["properties"]["hardwareProfile"]["vmSize"].lower() == size]
    sets = [s for s in arm.list(f"{group}/{_VM}ScaleSets") if s["sku"]["name"].lower() == size]
    return len(vms) + sum(int(s["sku"].get("capacity") or 0) for s in sets)


def show(verdicts: Sequence[Verdict], *, as_json: bool, what: str) -> int:
    """Given verdicts, show them, the bad ones last; return 0 unless one of them says no (then 2)."""
    if as_json:
        print(json.dumps({"task": what, "verdicts": [v.as_dict() for v in verdicts]}, indent=2))
    screen = Screen(quiet=as_json)
    order = list(Status)
    for verdict in sorted(verdicts, key=lambda v: order.index(v.status)):
        mark = str(verdict.status).replace("_", " ")
        screen.say(f"{mark:<13} {verdict.message}", STYLES[verdict.status])
        if verdict.hint and verdict.status is not Status.PASS:
            screen.say(f"{'':<13} hint: {verdict.hint}")
    bad = worst(v.status for v in verdicts if v.status is not Status.NOT_MEASURED)
    return 2 if bad in (Status.FAIL, Status.INVALID) else 0


def containers_of(arm: Arm, accounts: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Given storage accounts, return the names of each one's containers. ARM tells them; no key is needed."""
    return {
        account["name"]: [c["name"] for c in arm.list(f"{account['id']}/blobServices/default/containers")]
        for account in accounts
    }
