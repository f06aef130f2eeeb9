"""Cost: what is cheap to change in a preview and dear afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policies.read import ACCOUNT, BY_ACCESS, MACHINES, TIERS, enabled, inside, machines, moves, of, reaches
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_GEO = ("GRS", "GZRS")
_RECEIVERS = ("email", "sms", "voice", "webhook", "armRole", "azureAppPush", "azureFunction", "logicApp", "eventHub")


@rule(
    "cost-geo-redundancy",
    ACCOUNT,
    "Training data can be ingested again.",
    "LRS or ZRS",
    passes={"sku": {"name": "Standard_ZRS"}},
    fails={"sku": {"name": "Standard_GRS"}},
    level="advisory",
)
def geo_redundancy(p: Properties) -> Iterator[str]:
    sku = str(inside(p, "sku").get("name", ""))
    if any(word in sku for word in _GEO):
        yield f"{sku} pays for a second region and copies the data there"


@rule(
    "cost-owner-tag",
    ("resources:ResourceGroup", *ACCOUNT, *MACHINES),
    "Every dollar has an owner.",
    "tags={'feedline': cluster}",
    passes={"tags": {"feedline": "feedline-prod"}},
    fails={"tags": {}},
    level="advisory",
    parameters=(Parameter("tags", "Tags that must be there.", ["feedline"]),),
)
def owner_tag(p: Properties, given: Given) -> Iterator[str]:
    for tag in given["tags"]:
        if tag not in (p.get("tags") or {}):
            yield f"carries no `{tag}` tag: its cost belongs to nobody"


@rule(
    "cost-no-standard-files",
    ("storage:FileShare",),
    "A share on standard storage is an HDD with a network in front.",
    "mount blobs; a share that must be fast is Premium",
    passes={"accessTier": "Premium"},
    fails={"accessTier": "TransactionOptimized"},
)
def no_standard_files(p: Properties) -> Iterator[str]:
    if p.get("accessTier") != "Premium":
        yield f"its tier is {p.get('accessTier') or 'not set, so TransactionOptimized'}: it sits on HDDs"


@rule(
    "cost-cool-under-mount",
    ("storage:ManagementPolicy",),
    "Data that a job reads every epoch is charged per read in a cooler tier, and archive is not readable at all.",
    "count days after last access, never to archive, for containers that nodes mount",
    passes=moves("training-data/", "tierToCool", BY_ACCESS),
    fails=moves("training-data/", "tierToCool", "daysAfterModificationGreaterThan"),
    parameters=(Parameter("containers", "Containers that nodes mount.", ["training-data", "models"]),),
)
def cool_under_mount(p: Properties, given: Given) -> Iterator[str]:
    for found in enabled(p):
        mounted = [container for container in given["containers"] if reaches(found, container)]
        blobs = inside(found, "definition", "actions", "baseBlob")
        for action, tier in TIERS.items():
            if mounted and blobs.get(action) and (tier == "archive" or BY_ACCESS not in blobs.get(action)):
                how = "to archive" if tier == "archive" else f"to {tier} by age, however often it is read"
                yield f"lifecycle rule {found.get('name')} moves {', '.join(mounted)} {how}"


def _node() -> Resource:
    return Resource("compute:VirtualMachine", "gpu-0", {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}})


def _budget(amount: float = 400000, *emails: str) -> Resource:
    notifications: dict[str, Any] = {"actual-80": {"enabled": True, "threshold": 80, "contactEmails": [*emails]}}
    return Resource("consumption:Budget", "budget", {"amount": amount, "notifications": notifications})


@stack_rule(
    "cost-budget",
    "GPU nodes cost more in a night than most budgets notice in a month.",
    "observability.budget_usd and emails in the settings",
    passes=[_node(), _budget(400000)],
    fails=[_node()],
    level="advisory",
    parameters=(Parameter("max_usd", "The most a budget may allow per period; 0 = any.", 0),),
)
def budget(resources: Sequence[Resource], given: Given) -> Iterator[tuple[str, str]]:
    gpus, budgets = machines(resources), of(resources, "consumption:Budget", "costmanagement:Budget")
    if gpus and not budgets:
        yield gpus[0][0].name, "has GPUs, and no budget in this stack limits or tells what they cost"
    for found in budgets:
        amount = float(found.properties.get("amount") or 0)
        if given["max_usd"] and amount > given["max_usd"]:
            yield found.name, f"allows {amount:,.0f} USD, more than {given['max_usd']:,.0f}"


@stack_rule(
    "cost-idle-gpus",
    "Idle GPUs cost what busy ones do, and somebody has to hear of it.",
    "observability.emails: a receiver in the action group or in the budget's notifications",
    passes=[_node(), _budget(400000, "oncall@example.com")],
    fails=[_node(), _budget(400000)],
    level="advisory",
)
def idle_gpus(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    gpus = machines(resources)
    if gpus and not any(_reached(r.properties) for r in of(resources, "monitor:ActionGroup", "consumption:Budget")):
        yield gpus[0][0].name, "nobody is told when GPUs idle: neither budget nor action group reaches a person"


def _reached(p: Properties) -> bool:
    if p.get("enabled") is not False and any(p.get(f"{kind}Receivers") for kind in _RECEIVERS):
        return True
    notifications = p.get("notifications") or {}
    return any(
        notifications[name].get("enabled") is True
        and (notifications[name].get("contactEmails") or notifications[name].get("contactRoles"))
        for name in notifications
    )


@stack_rule(
    "cost-node-count",
    "One digit too many is a fleet.",
    "fewer nodes, or max_nodes in this environment's pack configuration",
    passes=[_node()],
    fails=[_node(), Resource("compute:VirtualMachine", "gpu-1", _node().properties)],
    parameters=(Parameter("max_nodes", "The most GPU nodes a stack may have.", 300),),
    told={"max_nodes": 1},
)
def node_count(resources: Sequence[Resource], given: Given) -> Iterator[tuple[str, str]]:
    count = sum(number for _, number in machines(resources))
    if count > given["max_nodes"]:
        yield "", f"{count} GPU nodes, and this environment may have {given['max_nodes']:g}"
