"""Cost: what is cheap to change in a preview and dear afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from policies.rule import Properties, Rule

_GEO = ("GRS", "GZRS")


def _geo(p: Properties) -> Iterator[str]:
    sku = str((p.get("sku") or {}).get("name", ""))
    if any(word in sku for word in _GEO):
        yield f"{sku} pays for a second region and copies the data there"


def _tags(p: Properties) -> Iterator[str]:
    if "feedline" not in (p.get("tags") or {}):
        yield "carries no `feedline` tag: its cost belongs to nobody"


RULES = (
    Rule(
        "cost-geo-redundancy",
        ("storage:StorageAccount",),
        "Training data can be ingested again.",
        "LRS or ZRS",
        _geo,
        "advisory",
    ),
    Rule(
        "cost-owner-tag",
        ("resources:ResourceGroup", "storage:StorageAccount", "compute:VirtualMachine"),
        "Every dollar has an owner.",
        "tags={'feedline': cluster}",
        _tags,
        "advisory",
    ),
)
