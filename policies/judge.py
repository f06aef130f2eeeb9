"""One run over one stack: rules, what they are told, and the exceptions from them. Pure: whoever runs it says which day
it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from policies.exceptions import MAX_DAYS, Accepted, Register
from policies.rule import Given, Resource, Rule, StackRule, values

EXCEPTIONS = "policy-exceptions"
IN_FORCE = "policy-exceptions-in-force"
ABOUT_EXCEPTIONS = {
    EXCEPTIONS: (
        "mandatory",
        f"An exception is one rule on one resource, with reason, approver and an end at most {MAX_DAYS} days ahead.",
        "renew it with a new reason, repair it or remove it from policies/exceptions.toml",
    ),
    IN_FORCE: ("advisory", "What is accepted stays visible.", "remove the cause, then the exception"),
}
"""Two more policies, about the exceptions themselves: level, reason and fix by id."""


class Judge:
    """Judges resources of `stack` in `project` as of `today`, and remembers which exceptions it used."""

    def __init__(self, register: Register, today: date, stack: str = "", project: str = "") -> None:
        self._register, self._today, self._stack, self._project = register, today, stack, project
        self._used: set[Accepted] = set()

    def resource(self, rule: Rule, resource: Resource, config: Mapping[str, Any] | None = None) -> list[str]:
        """Given a rule and a resource of one of its types, return what is wrong and not excepted."""
        if resource.type not in rule.types:
            return []
        found = rule.judge(resource.properties, self._given(rule, config))
        return [problem for problem in found if not self._accepted(rule.id, resource.name)]

    def stack(
        self, rule: StackRule, resources: Sequence[Resource], config: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Given a rule and every resource, yield (resource name, what is wrong) of what is not excepted."""
        for name, problem in rule.judge(resources, self._given(rule, config)):
            if not (name and self._accepted(rule.id, name)):
                yield name, problem

    def exceptions(self, policy: str, resources: Sequence[Resource]) -> list[tuple[str, str]]:
        """Given EXCEPTIONS or IN_FORCE and every resource, return (resource name, what there is to say). IN_FORCE
        comes after everything else, since it says what was used."""
        if policy == EXCEPTIONS:
            return list(self._register.wrong(self._stack, {r.name for r in resources}, self._today))
        return list(self._register.in_force(self._stack, self._used, self._today))

    def _given(self, rule: Rule | StackRule, config: Mapping[str, Any] | None) -> Given:
        return Given(self._today, self._stack, self._project, values(rule, config))

    def _accepted(self, rule: str, resource: str) -> bool:
        found = self._register.of(rule, self._stack, resource, self._today)
        if found:
            self._used.add(found)
        return found is not None
