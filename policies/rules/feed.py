"""The feed plan: what is known before anything is bought to leave GPUs waiting. The infra program registers it as a
component, since a pack sees no stack outputs while there is still time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policies.read import machines, of
from policies.rule import Properties, Resource, rule, stack_rule

_PLAN = ("feedline:feed:FeedPlan",)
_WRITTEN = ("checkpoints", "artifacts")


def _mount(container: str, *, read_only: bool, mode: str, cache: str = "") -> dict[str, Any]:
    where = cache or f"/mnt/resource/blobfuse2cache/{container}"
    return {"name": container, "container": container, "read_only": read_only, "mode": mode, "cache": where}


@rule(
    "feed-not-starved",
    _PLAN,
    "GPUs that wait for data cost what GPUs that train cost.",
    "what the feed plan in the preview names; or feed.starving_is_accepted_because with a reason",
    passes={"starved": False, "accepted_because": ""},
    fails={"starved": True, "accepted_because": ""},
)
def not_starved(p: Properties) -> Iterator[str]:
    if p.get("starved") is not False and not str(p.get("accepted_because") or "").strip():
        yield "this cluster starves by construction, and nobody wrote down why that is accepted"


@rule(
    "feed-starving-is-accepted",
    _PLAN,
    "What was accepted once is read again at every preview.",
    "what the feed plan in the preview names",
    passes={"starved": False, "accepted_because": ""},
    fails={"starved": True, "accepted_because": "tests of the scheduler only"},
    level="advisory",
)
def starving_is_accepted(p: Properties) -> Iterator[str]:
    because = str(p.get("accepted_because") or "").strip()
    if p.get("starved") is not False and because:
        yield f"this cluster starves by construction, accepted because: {because}"


@rule(
    "feed-preload-fits",
    _PLAN,
    "A preload that does not fit ends in the middle of the data set.",
    "mode file_cache or stream, sizes with more NVMe, or a smaller data set",
    passes={"mode": "preload", "fits_nvme": True, "dataset_bytes": 20e12, "nvme_bytes": 28e12},
    fails={"mode": "preload", "fits_nvme": False, "dataset_bytes": 40e12, "nvme_bytes": 28e12},
)
def preload_fits(p: Properties) -> Iterator[str]:
    if p.get("mode") == "preload" and (p.get("fits_nvme") is not True or p["dataset_bytes"] > p["nvme_bytes"]):
        data, room = float(p["dataset_bytes"]) / 1e12, float(p["nvme_bytes"]) / 1e12
        yield f"the data set has {data:.1f} TB, a node's cache {room:.1f} TB, some of which it keeps free"


@rule(
    "feed-checkpoints-writable",
    _PLAN,
    "A job that cannot write its checkpoint finds out after the first hours.",
    "read_only=False and mode file_cache: preload makes a mount read-only",
    passes={"mounts": [_mount("checkpoints", read_only=False, mode="file_cache")]},
    fails={"mounts": [_mount("checkpoints", read_only=True, mode="preload")]},
)
def checkpoints_writable(p: Properties) -> Iterator[str]:
    for mount in p.get("mounts") or []:
        if mount.get("container") in _WRITTEN and mount.get("read_only") is not False:
            yield f"mount {mount.get('name')} of {mount.get('container')} is read-only"
        elif mount.get("container") in _WRITTEN and mount.get("mode") == "preload":
            yield f"mount {mount.get('name')} of {mount.get('container')} is preloaded, which makes it read-only"


@rule(
    "feed-sealed-data-read-only",
    _PLAN,
    "The data set was sealed; a job that could change it could not be repeated.",
    "read_only=True",
    passes={"mounts": [_mount("training-data", read_only=True, mode="preload")]},
    fails={"mounts": [_mount("training-data", read_only=False, mode="preload")]},
)
def sealed_data_read_only(p: Properties) -> Iterator[str]:
    for mount in p.get("mounts") or []:
        if mount.get("container") == "training-data" and mount.get("read_only") is not True:
            yield f"mount {mount.get('name')} of training-data is writable"


_SHARED = "/mnt/resource/blobfuse2cache/all"


@rule(
    "feed-own-cache",
    _PLAN,
    "Two mounts in one cache folder read each other's files; an OS disk as cache is neither large nor fast.",
    "a folder of its own for every mount, on the local NVMe",
    passes={"mounts": [_mount("training-data", read_only=True, mode="preload")]},
    fails={
        "mounts": [
            _mount("training-data", read_only=True, mode="preload", cache=_SHARED),
            _mount("checkpoints", read_only=False, mode="file_cache", cache=_SHARED),
        ]
    },
)
def own_cache(p: Properties) -> Iterator[str]:
    seen: dict[str, str] = {}
    for mount in p.get("mounts") or []:
        cache, name = str(mount.get("cache") or ""), str(mount.get("name"))
        if cache in seen:
            yield f"mounts {seen[cache]} and {name} share the cache folder {cache or '(none named)'}"
        if not cache.startswith("/mnt/"):
            yield f"mount {name} has its cache at {cache or 'no folder'}, not on a mounted local disk"
        seen[cache] = name


def _node() -> Resource:
    return Resource("compute:VirtualMachine", "gpu-0", {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}})


@stack_rule(
    "feed-planned",
    "Nobody knows whether GPUs without a feed plan can be fed.",
    "FeedPlan(...) in the program: infra/feed.py",
    passes=[_node(), Resource(_PLAN[0], "feed", {"starved": False})],
    fails=[_node()],
)
def planned(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    gpus = machines(resources)
    if gpus and not of(resources, *_PLAN):
        yield gpus[0][0].name, "has GPUs, and this stack computed no feed plan for them"
