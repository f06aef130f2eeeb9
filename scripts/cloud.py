"""Asking Azure before and beside a cluster: what `doctor --cloud` does, and how such answers are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.errors import OperationError
from feedline.settings import Settings
from feedline.verdict import Status, Verdict
from feedline.verdicts import cloud
from scripts.arm import Arm
from scripts.evidence import Evidence
from scripts.places import Places
from scripts.screen import STYLES, Screen

STORAGE = "Microsoft.Storage/storageAccounts"
_VM = "providers/Microsoft.Compute/virtualMachines"


@dataclass(frozen=True)
class Subscription:
    """A stack's settings, and the way to ARM. `groups` are the names of the resource groups there are, lower case."""

    arm: Arm
    settings: Settings
    groups: frozenset[str]

    @property
    def id(self) -> str:
        return f"/subscriptions/{self.settings.subscription_id}"

    def group(self, tail: str = "") -> str:
        """Return the id of one of the cluster's groups."""
        return f"{self.id}/resourceGroups/rg-{self.settings.cluster}{tail}"

    def has(self, tail: str = "") -> bool:
        """Return whether one of the cluster's groups exists."""
        return f"rg-{self.settings.cluster}{tail}".lower() in self.groups

    def listed(self, provider: str, what: str, **query: str) -> list[Any]:
        return list(self.arm.list(f"{self.id}/providers/{provider}/{what}", **query))


def ask(arm: Arm, settings: Settings) -> list[Verdict]:
    """Given the way to ARM and a stack's settings, ask what can be asked before `pulumi up`, and judge it.

    Raise OperationError when nothing can be asked: no login, no such subscription.
    """
    groups = arm.list(f"/subscriptions/{settings.subscription_id}/resourcegroups")
    there = Subscription(arm, settings, frozenset(str(group["name"]).lower() for group in groups))
    questions: tuple[tuple[str, Callable[[Subscription], list[Verdict]]], ...] = (
        ("quota", _sizes),
        ("limit", _limits),
        ("account", _accounts),
        ("rights", _rights),
        ("provider", _providers),
    )
    found: list[Verdict] = []
    for check, question in questions:
        try:
            found += question(there)
        except OperationError as error:
            found.append(cloud.refused(check, settings.location, error.what))
    return [*found, *cloud.not_asked(settings.location)]


def _sizes(at: Subscription) -> list[Verdict]:
    settings, location = at.settings, at.settings.location
    needs = [
        cloud.Need(settings.nodes.size, settings.nodes.count, _there(at)),
        cloud.Need(settings.ingest_size, 1, int(at.has() and at.arm.get(f"{at.group()}/{_VM}/ingest-0") is not None)),
    ]
    skus = at.listed("Microsoft.Compute", "skus", **{"$filter": f"location eq '{location}'"})
    return cloud.judge_sizes(location, needs, skus, at.listed("Microsoft.Compute", f"locations/{location}/usages"))


def _there(at: Subscription) -> int:
    """How many of the cluster's GPU nodes exist: their cores are used by us."""
    if not at.has():
        return 0
    size = at.settings.nodes.size.lower()
    vms = [
        vm
        for vm in at.arm.list(f"{at.group()}/{_VM}")
        if vm["properties"]["hardwareProfile"]["vmSize"].lower() == size and vm["name"].lower() != "ingest-0"
    ]
    sets = [s for s in at.arm.list(f"{at.group()}/{_VM}ScaleSets") if s["sku"]["name"].lower() == size]
    return len(vms) + sum(int(s["sku"].get("capacity") or 0) for s in sets)


def _limits(at: Subscription) -> list[Verdict]:
    """Judge what a region counts besides cores. Interfaces of a scale set count as any other."""
    settings, location, new = at.settings, at.settings.location, not at.has()
    own = new and settings.network.existing is None
    network = {
        "VirtualNetworks": int(own),
        "NetworkSecurityGroups": int(own),
        "PublicIPAddresses": own * (2 if settings.network.access == "bastion" else 1),
        "NetworkInterfaces": max(settings.nodes.count - _there(at), 0) + int(new),
    }
    accounts = {"StorageAccounts": 0 if at.has("-lake") else len(settings.accounts) - bool(settings.lake.adopt)}
    return [
        *cloud.judge_limits(location, network, at.listed("Microsoft.Network", f"locations/{location}/usages")),
        *cloud.judge_limits(location, accounts, at.listed("Microsoft.Storage", f"locations/{location}/usages")),
    ]


def _accounts(at: Subscription) -> list[Verdict]:
    found = []
    for name in at.settings.accounts:
        adopted = at.settings.lake.adopt if name == at.settings.lake.account else ""
        rid = adopted or f"{at.group('-lake')}/providers/{STORAGE}/{name}"
        ours = bool(adopted or at.has("-lake")) and at.arm.get(rid) is not None
        asked = {"name": name, "type": STORAGE}
        where = f"{at.id}/providers/Microsoft.Storage/checkNameAvailability"
        found.append(cloud.judge_account(name, ours, {} if ours else at.arm.change("POST", where, asked)))
    return found


def _rights(at: Subscription) -> list[Verdict]:
    """Ask where it matters: a pipeline's identity has its rights at our groups, not at the subscription."""
    tails = {"cluster": "", "lake": "-lake"}
    scopes = {place: at.group(tail) if at.has(tail) else at.id for place, tail in tails.items()}
    rights = "providers/Microsoft.Authorization/permissions"
    return cloud.judge_rights({place: list(at.arm.list(f"{scope}/{rights}")) for place, scope in scopes.items()})


def _providers(at: Subscription) -> list[Verdict]:
    needed = [*cloud.PROVIDERS]
    needed += ["Microsoft.KeyVault"] if at.settings.lake.key else []
    needed += ["Microsoft.StorageCache"] if at.settings.hot_tier.kind == "lustre" else []
    return cloud.judge_providers(needed, list(at.arm.list(f"{at.id}/providers")))


def show(verdicts: Sequence[Verdict], *, as_json: bool, what: str, cluster: str) -> int:
    """Given verdicts about a cluster's cloud, show them, the bad ones last, and keep them as evidence; return 0, or 2
    when they say no."""
    kept = [v.as_dict() for v in verdicts]
    evidence = Evidence(Places.of().evidence(cluster))
    evidence.note(f"verdicts/{what.replace(' --', '-')}.json", {"task": what, "verdicts": kept})
    folder = evidence.keep()
    if as_json:
        print(json.dumps({"task": what, "verdicts": kept, "evidence": str(folder)}, indent=2))
    screen = Screen(quiet=as_json)
    order = list(Status)
    for verdict in sorted(verdicts, key=lambda v: order.index(v.status)):
        mark = str(verdict.status).replace("_", " ")
        screen.say(f"{mark:<13} {verdict.message}", STYLES[verdict.status])
        if verdict.hint and verdict.status is not Status.PASS:
            screen.say(f"{'':<13} hint: {verdict.hint}")
    screen.say(f"evidence: {Places.of().short(folder)}")
    return 2 if cloud.says_no(verdicts) else 0
