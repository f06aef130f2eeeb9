"""Every rule, by what it is about."""

from __future__ import annotations

from policies.rule import Rule, StackRule
from policies.rules import compute, cost, identity, network, storage

RESOURCE_RULES: tuple[Rule, ...] = (*storage.RULES, *network.RULES, *identity.RULES, *compute.RULES, *cost.RULES)
STACK_RULES: tuple[StackRule, ...] = (*storage.STACK_RULES, *network.STACK_RULES, *compute.STACK_RULES)
