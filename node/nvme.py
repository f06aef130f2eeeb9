"""Verb `nvme`: the local NVMe disks as one file system at /mnt/resource, now and after every boot."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from feedline.contract import Contract
from feedline.errors import OperationError
from feedline.facts import Nvme
from feedline.names import NVME_UNIT, RESOURCE_DISK
from feedline.plans import nvme as planner
from feedline.render.units import TOOL_FOLDER, nvme_unit
from feedline.tools import mountinfo
from feedline.verdicts.nvme import judge
from node import disks, door
from node.apply import apply, confirmed

BUNDLE = Path(__file__).resolve().parents[1]


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Given a request of the node protocol (options: wipe), plan and, when confirmed, apply; return facts and
    verdicts."""
    node = Contract.parse(request["contract"]).node(request["node"])
    options = request.get("options", {})
    facts = collect(node.cache_lun)
    if node.role != "train" and not planner.usable(facts.disks):
        raise OperationError(
            f"{node.name} has no local NVMe and needs none", where=node.name, hint="`fab nvme --role train`"
        )
    todo = planner.plan(facts, wipe=options.get("wipe") or ())
    applied: list[dict[str, Any]] = []
    if confirmed(request, todo, node.name):
        applied = apply(todo, verb="nvme", operator=str(options.get("operator", "")), progress=progress)
        facts = collect(node.cache_lun)
    verdicts = [verdict.as_dict() for verdict in judge(facts, node.name)]
    return {
        "facts": facts.as_dict(),
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": bool(applied),
        "verdicts": verdicts,
        "measurements": {},
    }


def collect(cache_lun: int | None = None) -> Nvme:
    """Given the LUN of a managed cache disk, or None for the local NVMe, return what the planner needs to know."""
    mounts = disks.mounts()
    there = mountinfo.at(mounts, RESOURCE_DISK)
    unit = door.read(f"/etc/systemd/system/{NVME_UNIT}")
    return Nvme(
        disks=disks.collect(mounts, cache_lun),
        mounted_source=there.source if there else "",
        mounted_type=there.kind if there else "",
        mountpoint=_mountpoint(mounted=there is not None),
        free_bytes=shutil.disk_usage(RESOURCE_DISK).free if there else 0,
        unit_current=unit == nvme_unit(cache_lun),
        unit_enabled=door.run(["systemctl", "is-enabled", NVME_UNIT]).out.strip() == "enabled"
        and door.run(["systemctl", "is-active", NVME_UNIT]).ok,
        tool_current=_digest(BUNDLE) == _digest(Path(TOOL_FOLDER)),
        bundle=str(BUNDLE),
        attributes=_attributes(RESOURCE_DISK) is not None,
        cache_lun=cache_lun,
    )


def _mountpoint(*, mounted: bool) -> str:
    if mounted:
        return "protected"  # what is below a mount cannot be seen, and need not be
    if not os.path.isdir(RESOURCE_DISK):
        return "missing"
    closed = stat.S_IMODE(os.stat(RESOURCE_DISK).st_mode) == 0
    return "protected" if closed or "i" in (_attributes(RESOURCE_DISK) or "") else "bare"


def _attributes(path: str) -> str | None:
    """The attributes of a folder, or of the nearest one above it that exists; None = its file system has none."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    said = door.run(["lsattr", "-d", path])
    return said.out.split()[0] if said.ok and said.out.split() else None


def _digest(root: Path) -> str:
    """A hash over the node program's own files below `root`."""
    digest = hashlib.sha256()
    for path in sorted(p for part in ("feedline", "node") for p in (root / part).rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
