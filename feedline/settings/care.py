"""`feedline:observability` and `feedline:governance`: what is watched, and what is forbidden."""

from __future__ import annotations

from dataclasses import dataclass

from feedline import checks
from feedline.schema import key


@dataclass(frozen=True)
class Observability:
    """`feedline:observability`"""

    emails: tuple[str, ...] = key(
        "Who is told; empty = alerts are made and tell nobody.",
        ["oncall@example.com"],
        checks.each(checks.matches(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an address")),
        (),
    )
    budget_usd: int = key(
        "Budget a month in US dollars over the cluster's resource group; 0 = none.",
        50_000,
        checks.between(0, 1e9, "US dollars"),
        0,
    )
    budget_start: str = key(
        "First day of the budget: the first of a month. Azure never lets it change, so it is written down.",
        "2026-12-01",
        checks.optional(checks.first_of_month),
        "",
    )
    retention_days: int = key("How long the workspace keeps logs.", 30, checks.between(30, 730, "days"), 30)


@dataclass(frozen=True)
class Governance:
    """`feedline:governance`"""

    allowed_regions: tuple[str, ...] = key(
        "Regions the data may be in (sovereignty); empty = this stack's location only.",
        ["norwayeast"],
        checks.each(checks.known_region),
        (),
    )
    audit_shadow_data: bool = key(
        "Audit (never deny) storage accounts of the whole subscription that lie outside the approved groups.",
        False,
        None,
        False,
    )


def problems(observability: Observability, governance: Governance, location: str) -> list[str]:
    """Given both and where the stack is, return what cannot work."""
    found = []
    if observability.budget_usd and not observability.budget_start:
        found.append("feedline:observability.budget_start: a budget needs the day it starts (example: 2026-12-01)")
    if governance.allowed_regions and location and location not in governance.allowed_regions:
        found.append(
            f"azure-native:location: {location} is not in governance.allowed_regions "
            f"({', '.join(governance.allowed_regions)})"
        )
    return found
