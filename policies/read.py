"""How rules read properties that several of them need. Nothing here asks whether a value is known: reading one that is
not raises, and so it must."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from policies.rule import Properties, Resource

ACCOUNT = ("storage:StorageAccount",)
MACHINES = ("compute:VirtualMachine", "compute:VirtualMachineScaleSet")
"""Whatever holds a machine's profile: a VM says it itself, a scale set in `virtualMachineProfile`."""

_RDMA = re.compile(r"standard_nd\d+.*r.*", re.IGNORECASE)
_GPU = re.compile(r"standard_n[cdgv]", re.IGNORECASE)


def inside(p: Properties, *path: str) -> Any:
    """Given properties and a path of names, return what is there; an absent part is an empty mapping."""
    found: Any = p
    for name in path:
        found = found.get(name) or {}
    return found


def profile(p: Properties) -> Properties:
    """Given a VM or a scale set, return what says how its machines are."""
    found: Properties = p.get("virtualMachineProfile") or p
    return found


def size(p: Properties) -> str:
    """Given a VM or a scale set, return the size of its machines, or ""."""
    return str(inside(p, "hardwareProfile").get("vmSize") or inside(p, "sku").get("name") or "")


def is_rdma(p: Properties) -> bool:
    """Whether the machines have InfiniBand: ND sizes with an `r` among their letters."""
    return bool(_RDMA.match(size(p)))


def is_gpu(p: Properties) -> bool:
    """Whether the machines have GPUs: the N family."""
    return bool(_GPU.match(size(p)))


def machines(resources: Sequence[Resource]) -> list[tuple[Resource, int]]:
    """Given the stack, return what holds GPU machines, each with how many."""
    found = []
    for resource in of(resources, *MACHINES):
        if is_gpu(resource.properties):
            scaled = resource.type == "compute:VirtualMachineScaleSet"
            found.append((resource, int(inside(resource.properties, "sku").get("capacity") or 0) if scaled else 1))
    return [(resource, count) for resource, count in found if count]


def of(resources: Iterable[Resource], *types: str) -> list[Resource]:
    """Given the stack, return the resources of these types."""
    return [r for r in resources if r.type in types]


def last(resource_id: Any) -> str:
    """Given an id, return its last word, in lower case: Azure does not distinguish."""
    return str(resource_id).rstrip("/").rsplit("/", 1)[-1].lower()


def place(location: Any) -> str:
    """Given a location in either of Azure's spellings (`Sweden Central`, `swedencentral`), return the second."""
    return str(location or "").replace(" ", "").lower()


def sources(rule: Properties) -> Iterator[str]:
    """Given a security rule, yield where it lets traffic come from."""
    yield str(rule.get("sourceAddressPrefix") or "")
    yield from (str(s) for s in rule.get("sourceAddressPrefixes") or [])


TIERS = {"tierToCool": "cool", "tierToCold": "cold", "tierToArchive": "archive"}
BY_ACCESS = "daysAfterLastAccessTimeGreaterThan"
"""Words of an account's management policy."""


def moves(prefix: str, action: str, count: str, days: int = 90) -> dict[str, Any]:
    """An example: a management policy with one rule that acts on blobs below a prefix, counting days as `count`."""
    definition = {"actions": {"baseBlob": {action: {count: days}}}, "filters": {"prefixMatch": [prefix]}}
    return {"policy": {"rules": [{"name": "r", "enabled": True, "definition": definition}]}}


def enabled(p: Properties) -> Iterator[Properties]:
    """Given a management policy, yield its rules that are in force."""
    for found in inside(p, "policy").get("rules") or []:
        if found.get("enabled") is not False:
            yield found


def reaches(found: Properties, container: str) -> bool:
    """Whether a rule touches a container: without a prefix it touches everything."""
    prefixes = [str(prefix) for prefix in inside(found, "definition", "filters").get("prefixMatch") or []]
    return not prefixes or any(
        p.split("/")[0] == container or ("/" not in p and container.startswith(p)) for p in prefixes
    )
