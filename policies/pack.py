"""Rules as Pulumi policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies.rule import Resource, Rule, StackRule, short
from policies.rules import RESOURCE_RULES, STACK_RULES

_LEVELS = {"mandatory": EnforcementLevel.MANDATORY, "advisory": EnforcementLevel.ADVISORY}


def policies() -> list[Any]:
    """Return every rule as a Pulumi policy."""
    return [*map(_resource_policy, RESOURCE_RULES), *map(_stack_policy, STACK_RULES)]


def _resource_policy(rule: Rule) -> ResourceValidationPolicy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        # A value not known in preview raises inside the rule; the SDK then says that it could not run: never a pass.
        if short(args.resource_type) in rule.types:
            for problem in rule.check(args.props):
                report(f"{args.name}: {problem}")

    return ResourceValidationPolicy(rule.id, _describe(rule), validate, _LEVELS[rule.level])


def _stack_policy(rule: StackRule) -> StackValidationPolicy:
    def validate(args: StackValidationArgs, report: Callable[..., None]) -> None:
        known = [Resource(short(r.resource_type), r.name, r.props) for r in args.resources]
        urns = {r.name: r.urn for r in args.resources}
        for name, problem in rule.check([r for r in known if r.type]):
            report(f"{name or 'the stack'}: {problem}", urns.get(name))

    return StackValidationPolicy(rule.id, _describe(rule), validate, _LEVELS[rule.level])


def _describe(rule: Rule | StackRule) -> str:
    return f"{rule.reason} Fix: {rule.fix}."
