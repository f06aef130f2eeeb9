"""Every rule, by what it is about."""

from __future__ import annotations

from policies.rule import Rule, StackRule
from policies.rules import (
    compute,
    cost,
    disks,
    fabric,
    feed,
    governance,
    identity,
    lake,
    lifecycle,
    network,
    storage,
)

TOPICS = {
    "storage": (storage, lake, lifecycle),
    "network": (network,),
    "identity": (identity,),
    "compute": (compute, disks, fabric),
    "cost": (cost,),
    "feed": (feed,),
    "governance": (governance,),
}
"""The modules by topic; a rule is any Rule or StackRule that one of them defines."""

BY_TOPIC: dict[str, tuple[Rule | StackRule, ...]] = {
    topic: tuple(value for module in modules for value in vars(module).values() if isinstance(value, (Rule, StackRule)))
    for topic, modules in TOPICS.items()
}
ALL: tuple[Rule | StackRule, ...] = tuple(found for rules in BY_TOPIC.values() for found in rules)
RESOURCE_RULES: tuple[Rule, ...] = tuple(found for found in ALL if isinstance(found, Rule))
STACK_RULES: tuple[StackRule, ...] = tuple(found for found in ALL if isinstance(found, StackRule))
BY_ID: dict[str, Rule | StackRule] = {found.id: found for found in ALL}
