"""Lifecycle rules: what moves by itself must not move away under a training job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.read import BY_ACCESS, TIERS, enabled, inside, last, moves, of, reaches
from policies.rule import Properties, Resource, rule, stack_rule

_POLICY = ("storage:ManagementPolicy",)


@rule(
    "storage-lifecycle-spares-checkpoints",
    _POLICY,
    "A restart reads the oldest good checkpoint, whatever its age.",
    "prune checkpoints by count; give every lifecycle rule a prefix that names another container",
    passes=moves("raw/", "tierToCool", "daysAfterModificationGreaterThan"),
    fails=moves("checkpoints/", "delete", "daysAfterModificationGreaterThan"),
)
def spares_checkpoints(p: Properties) -> Iterator[str]:
    for found in enabled(p):
        if reaches(found, "checkpoints"):
            yield f"lifecycle rule {found.get('name')} touches the container checkpoints"


def _service(enable: bool) -> Resource:
    properties = {"accountName": "lakeprod01", "lastAccessTimeTrackingPolicy": {"enable": enable}}
    return Resource("storage:BlobServiceProperties", "lake-blob-service", properties)


def _policy() -> Resource:
    properties = {"accountName": "lakeprod01", **moves("training-data/", "tierToCool", BY_ACCESS)}
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
            BY_ACCESS in (inside(found, "definition", "actions", "baseBlob").get(action) or {})
            for found in enabled(policy.properties)
            for action in (*TIERS, "delete")
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
