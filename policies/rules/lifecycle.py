"""Lifecycle rules: what moves by itself must not move away under a training job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policies.read import inside, last, of
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_POLICY = ("storage:ManagementPolicy",)
_TIERS = {"tierToCool": "cool", "tierToCold": "cold", "tierToArchive": "archive"}
_BY_ACCESS = "daysAfterLastAccessTimeGreaterThan"


def _example(prefix: str, action: str, count: str, days: int = 90) -> dict[str, Any]:
    definition = {"actions": {"baseBlob": {action: {count: days}}}, "filters": {"prefixMatch": [prefix]}}
    return {"policy": {"rules": [{"name": "r", "enabled": True, "definition": definition}]}}


def _enabled(p: Properties) -> Iterator[Properties]:
    for found in inside(p, "policy").get("rules") or []:
        if found.get("enabled") is not False:
            yield found


def _reaches(found: Properties, container: str) -> bool:
    """Whether a rule touches a container: without a prefix it touches everything."""
    prefixes = [str(prefix) for prefix in inside(found, "definition", "filters").get("prefixMatch") or []]
    return not prefixes or any(
        p.split("/")[0] == container or ("/" not in p and container.startswith(p)) for p in prefixes
    )


@rule(
    "storage-lifecycle-spares-checkpoints",
    _POLICY,
    "A restart reads the oldest good checkpoint, whatever its age.",
    "prune checkpoints by count; give every lifecycle rule a prefix that names another container",
    passes=_example("raw/", "tierToCool", "daysAfterModificationGreaterThan"),
    fails=_example("checkpoints/", "delete", "daysAfterModificationGreaterThan"),
)
def spares_checkpoints(p: Properties) -> Iterator[str]:
    for found in _enabled(p):
        if _reaches(found, "checkpoints"):
            yield f"lifecycle rule {found.get('name')} touches the container checkpoints"


@rule(
    "cost-cool-under-mount",
    _POLICY,
    "Data that a job reads every epoch is charged per read in a cooler tier, and archive is not readable at all.",
    "count days after last access, never to archive, for containers that nodes mount",
    passes=_example("training-data/", "tierToCool", _BY_ACCESS),
    fails=_example("training-data/", "tierToCool", "daysAfterModificationGreaterThan"),
    parameters=(Parameter("containers", "Containers that nodes mount.", ["training-data", "models"]),),
)
def cool_under_mount(p: Properties, given: Given) -> Iterator[str]:
    for found in _enabled(p):
        mounted = [container for container in given["containers"] if _reaches(found, container)]
        blobs = inside(found, "definition", "actions", "baseBlob")
        for action, tier in _TIERS.items():
            if mounted and blobs.get(action) and (tier == "archive" or _BY_ACCESS not in blobs.get(action)):
                how = "to archive" if tier == "archive" else f"to {tier} by age, however often it is read"
                yield f"lifecycle rule {found.get('name')} moves {', '.join(mounted)} {how}"


def _service(enable: bool) -> Resource:
    properties = {"accountName": "lakeprod01", "lastAccessTimeTrackingPolicy": {"enable": enable}}
    return Resource("storage:BlobServiceProperties", "lake-blob-service", properties)


def _policy() -> Resource:
    properties = {"accountName": "lakeprod01", **_example("training-data/", "tierToCool", _BY_ACCESS)}
    return Resource("storage:ManagementPolicy", "lake-lifecycle", properties)


@stack_rule(
    "storage-last-access-tracked",
    "A rule by last access counts nothing, and Azure refuses it, where accesses are not remembered.",
    "last_access_time_tracking_policy={'enable': True} on the account's blob service",
    passes=[_policy(), _service(True)],
    fails=[_policy(), _service(False)],
)
def last_access_tracked(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    wanting = [
        policy
        for policy in of(resources, *_POLICY)
        if any(
            _BY_ACCESS in (inside(found, "definition", "actions", "baseBlob").get(action) or {})
            for found in _enabled(policy.properties)
            for action in (*_TIERS, "delete")
        )
    ]
    if not wanting:
        return
    tracked = {
        last(service.properties.get("accountName"))
        for service in of(resources, "storage:BlobServiceProperties")
        if inside(service.properties, "lastAccessTimeTrackingPolicy").get("enable") is True
    }
    for policy in wanting:
        if last(policy.properties.get("accountName")) not in tracked:
            yield policy.name, "counts days since last access, which its account does not remember"
