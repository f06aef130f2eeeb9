"""Rules as Pulumi policies. The only place that knows the policy SDK, the day and the file with the exceptions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies import exceptions
from policies.judge import ABOUT_EXCEPTIONS, Judge
from policies.rule import Properties, Resource, Rule, StackRule, short
from policies.rules import BY_ID, RESOURCE_RULES, STACK_RULES

_LEVELS = {"mandatory": EnforcementLevel.MANDATORY, "advisory": EnforcementLevel.ADVISORY}


def policies() -> list[Any]:
    """Return every rule as a Pulumi policy. Reads the day (UTC) and the exceptions."""
    file = Path(__file__).with_name("exceptions.toml")
    register = exceptions.parse(file.read_text(encoding="utf-8"), BY_ID)
    pack = Pack(register, datetime.now(tz=UTC).date())
    return [
        *map(pack.resource_policy, RESOURCE_RULES),
        *map(pack.stack_policy, STACK_RULES),
        *map(pack.exceptions_policy, ABOUT_EXCEPTIONS),
    ]


class Pack:
    """The policies of one run of the engine, which judges one stack.

    The engine hands a stack rule the *outputs* of resources. In a preview most of those are unknown, and some inputs
    (the account that a diagnostic setting belongs to) never come back as outputs. So the inputs that resource rules saw
    are kept, and stack rules judge them.
    """

    def __init__(self, register: exceptions.Register, today: date) -> None:
        self._register, self._today = register, today
        self._judge: Judge | None = None
        self._inputs: dict[str, Properties] = {}

    def resource_policy(self, rule: Rule) -> ResourceValidationPolicy:
        """Given a rule on single resources, return its policy."""

        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            self._inputs[args.urn] = args.props
            # A value not known in preview raises inside the rule; the SDK then says that it could not run: never a
            # pass.
            resource = Resource(short(args.resource_type), args.name, args.props, args.urn)
            for problem in self._of(args.urn).resource(rule, resource, args.get_config()):
                report(f"{args.name}: {problem}")

        return ResourceValidationPolicy(
            rule.id, _say(rule.reason, rule.fix), validate, _LEVELS[rule.level], _schema(rule)
        )

    def stack_policy(self, rule: StackRule) -> StackValidationPolicy:
        """Given a rule on the stack, return its policy."""

        def validate(args: StackValidationArgs, report: Callable[..., None]) -> None:
            resources = self._resources(args)
            if resources:
                judge = self._of(resources[0].urn)
                self._report(resources, judge.stack(rule, resources, args.get_config()), report)

        return StackValidationPolicy(rule.id, _say(rule.reason, rule.fix), validate, _LEVELS[rule.level], _schema(rule))

    def exceptions_policy(self, name: str) -> StackValidationPolicy:
        """Given one of ABOUT_EXCEPTIONS, return its policy."""
        level, reason, fix = ABOUT_EXCEPTIONS[name]

        def validate(args: StackValidationArgs, report: Callable[..., None]) -> None:
            resources = self._resources(args)
            if args.resources:
                self._report(resources, self._of(args.resources[0].urn).exceptions(name, resources), report)

        return StackValidationPolicy(name, _say(reason, fix), validate, _LEVELS[level])

    def _of(self, urn: str) -> Judge:
        """The run's judge. A URN says whose run it is: urn:pulumi:STACK::PROJECT::TYPE::NAME."""
        if self._judge is None:
            stack, project = urn.removeprefix("urn:pulumi:").split("::")[:2]
            self._judge = Judge(self._register, self._today, stack, project)
        return self._judge

    def _resources(self, args: StackValidationArgs) -> list[Resource]:
        found = (
            Resource(
                short(r.resource_type),
                r.name,
                self._inputs.get(r.urn, r.props),
                r.urn,
                {name: [made.urn for made in makers] for name, makers in r.property_dependencies.items()},
            )
            for r in args.resources
        )
        return [r for r in found if r.type]

    @staticmethod
    def _report(resources: list[Resource], problems: Any, report: Callable[..., None]) -> None:
        urns = {r.name: r.urn for r in reversed(resources)}
        for name, problem in problems:
            report(f"{name or 'the stack'}: {problem}", urns.get(name))


def _say(reason: str, fix: str) -> str:
    return f"{reason} Fix: {fix}."


def _schema(rule: Rule | StackRule) -> PolicyConfigSchema | None:
    return PolicyConfigSchema({p.name: p.schema for p in rule.parameters}) if rule.parameters else None
