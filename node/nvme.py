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
from feedline.facts import Disk, Nvme
from feedline.names import NVME_UNIT, RESOURCE_DISK
from feedline.plans import nvme as planner
from feedline.render.units import TOOL_FOLDER, nvme_unit
from feedline.verdicts.nvme import judge
from node import door
from node.apply import apply, confirmed

BUNDLE = Path(__file__).resolve().parents[1]
BY_INDEX = "/dev/disk/azure/local/by-index"
MODEL = "Microsoft NVMe Direct Disk"


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Given a request of the node protocol (options: wipe), plan and, when confirmed, apply; return facts and
    verdicts."""
    node = Contract.parse(request["contract"]).node(request["node"])
    options = request.get("options", {})
    facts = collect()
    if node.role != "train" and not planner.usable(facts.disks):
        raise OperationError(
            f"{node.name} has no local NVMe and needs none", where=node.name, hint="`fab nvme --role train`"
        )
    todo = planner.plan(facts, wipe=options.get("wipe") or ())
    applied: list[dict[str, Any]] = []
    if confirmed(request, todo, node.name):
        applied = apply(todo, verb="nvme", operator=str(options.get("operator", "")), progress=progress)
        facts = collect()
    verdicts = [verdict.as_dict() for verdict in judge(facts, node.name)]
    return {
        "facts": facts.as_dict(),
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": bool(applied),
        "verdicts": verdicts,
        "measurements": {},
    }


def collect() -> Nvme:
    """Return what the planner needs to know."""
    mounts = _mounts()
    source, kind = next(((m[1], m[2]) for m in reversed(mounts) if m[0] == RESOURCE_DISK), ("", ""))
    unit = door.read(f"/etc/systemd/system/{NVME_UNIT}")
    return Nvme(
        disks=tuple(_disk(path, mounts) for path in _candidates()),
        mounted_source=source,
        mounted_type=kind,
        mountpoint=_mountpoint(bool(source)),
        free_bytes=shutil.disk_usage(RESOURCE_DISK).free if source else 0,
        unit_current=unit == nvme_unit(),
        unit_enabled=door.run(["systemctl", "is-enabled", NVME_UNIT]).out.strip() == "enabled"
        and door.run(["systemctl", "is-active", NVME_UNIT]).ok,
        tool_current=_digest(BUNDLE) == _digest(Path(TOOL_FOLDER)),
        bundle=str(BUNDLE),
    )


def _candidates() -> list[str]:
    """Local disks by Azure's own names, else by model. Anything else is nobody's business here."""
    named = sorted(os.path.realpath(path) for path in Path(BY_INDEX).glob("*"))
    if named:
        return named
    models = ((path, door.read(str(path / "device" / "model")) or "") for path in Path("/sys/block").glob("nvme*"))
    return sorted(f"/dev/{path.name}" for path, model in models if model.strip().startswith(MODEL))


def _disk(path: str, mounts: list[tuple[str, str, str, str]]) -> Disk:
    try:
        facts = os.stat(path)
    except OSError:
        return Disk(path, True, False, 0, None, "", "", False)
    device = f"{os.major(facts.st_rdev)}:{os.minor(facts.st_rdev)}"
    root = os.stat("/").st_dev
    tags = _signature(path)
    return Disk(
        path=path,
        local=True,
        node=stat.S_ISBLK(facts.st_mode),
        bytes=int(door.run(["blockdev", "--getsize64", path]).out.strip() or 0),
        signature=tags.get("TYPE", tags.get("PTTYPE", "")) if tags is not None else None,
        label=(tags or {}).get("LABEL", ""),
        mounted=next((m[0] for m in mounts if m[3] == device), ""),
        holds_root=device == f"{os.major(root)}:{os.minor(root)}",
    )


def _signature(path: str) -> dict[str, str] | None:
    """What blkid finds by probing (not from its cache); 2 = nothing there, None = the disk could not be read."""
    said = door.run(["blkid", "--probe", "--output", "export", path])
    if said.rc == 2:
        return {}
    return dict(line.split("=", 1) for line in said.out.splitlines() if "=" in line) if said.ok else None


def _mounts() -> list[tuple[str, str, str, str]]:
    """(mount point, source, type, major:minor) of every mount."""
    found = []
    for line in (door.read("/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        words, facts = left.split(), right.split()
        found.append((words[4], facts[1], facts[0], words[2]))
    return found


def _mountpoint(mounted: bool) -> str:
    if mounted:
        return "protected"  # what is below a mount cannot be seen, and need not be
    if not os.path.isdir(RESOURCE_DISK):
        return "missing"
    said = door.run(["lsattr", "-d", RESOURCE_DISK])
    return "protected" if said.ok and "i" in said.out.split()[0] else "bare"


def _digest(root: Path) -> str:
    """A hash over the node program's own files below `root`."""
    digest = hashlib.sha256()
    for path in sorted(p for part in ("feedline", "node") for p in (root / part).rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
