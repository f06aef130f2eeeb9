"""`feedline:operators`: people who may read or write data, beside the managed identities of the jobs."""

from __future__ import annotations

from dataclasses import dataclass

from feedline import checks
from feedline.names import CONTAINERS
from feedline.schema import key


@dataclass(frozen=True)
class Operator:
    """A person or, better, a group of Entra ID, and one container."""

    name: str = key(
        "A short name of ours; part of the assignment's name.",
        "vision-team",
        checks.matches(r"[a-z][a-z0-9-]{0,40}", "a-z, 0-9, '-'"),
    )
    object_id: str = key("Object id in Entra ID.", "6f1d2c0e-0000-4000-8000-000000000001", checks.guid)
    container: str = key("The container.", "raw", checks.one_of(*CONTAINERS))
    kind: str = key("`Group` or `User`.", "Group", checks.one_of("Group", "User"), "Group")
    access: str = key("`read` or `write`.", "read", checks.one_of("read", "write"), "read")
    prefix: str = key(
        "Only below this path (a condition on the assignment), where teams share a container; empty = all of it.",
        "vision/",
        checks.optional(checks.matches(r"[^/\\'].*/", "a path that ends with '/'")),
        "",
    )


def problems(operators: tuple[Operator, ...]) -> list[str]:
    """Given the operators, return what Azure would refuse."""
    found, seen, named = [], set(), set()
    for index, operator in enumerate(operators):
        # One principal, role and scope is one assignment, whatever its condition.
        what = (operator.object_id.lower(), operator.container, operator.access)
        if what in seen:
            found.append(
                f"feedline:operators[{index}]: {operator.name} has {operator.access} on {operator.container} already; "
                "Azure takes one assignment of a role per principal and scope"
            )
        seen.add(what)
        label = (operator.name, operator.container, operator.access)
        if label in named:
            found.append(f"feedline:operators[{index}].name: another operator is called {operator.name} there already")
        named.add(label)
    return found
