"""Which disks may become the cache - and which carry something: resolved down to whole disks, through partitions,
LVM, RAID."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from feedline.facts import Disk
from feedline.names import RESOURCE_DISK
from feedline.tools import blkid, mountinfo
from feedline.tools.mountinfo import Mounted
from node import door

BY_INDEX = "/dev/disk/azure/local/by-index"
"""Azure's own names (package azure-vm-utils); a partition's name ends in -partN and is no disk."""

BY_LUN = ("/dev/disk/azure/data/by-lun/{lun}", "/dev/disk/azure/scsi1/lun{lun}")
"""A data disk's names: by azure-vm-utils, and by the older rules of waagent and cloud images."""

MODEL = "Microsoft NVMe Direct Disk"
"""Local NVMe, v1 and v2. A remote disk on NVMe calls itself "MSFT NVMe Accelerator"."""

SYS = "/sys"


def mounts() -> list[Mounted]:
    """Return what is mounted, as this process sees it."""
    return mountinfo.parse(door.read("/proc/self/mountinfo") or "")


def candidates() -> list[str]:
    """Return the local disks' device paths, by Azure's own names, else by model. Anything else is nobody's business
    here."""
    named = [path for path in Path(BY_INDEX).glob("*") if path.name.isdigit()]
    if named:
        return sorted(os.path.realpath(path) for path in named)
    names = [path.name for path in Path(SYS, "block").glob("nvme*")]
    return sorted(f"/dev/{name}" for name in names if (model(name) or "").startswith(MODEL))


def at_lun(lun: int) -> list[str]:
    """Given the LUN of the disk that was declared to be the cache, return its device path, or nothing."""
    named = [name for pattern in BY_LUN if os.path.exists(name := pattern.format(lun=lun))]
    return [os.path.realpath(named[0])] if named else []


def collect(found: Sequence[Mounted], cache_lun: int | None = None) -> tuple[Disk, ...]:
    """Given what is mounted (and the LUN of a declared cache disk), return every candidate as it is."""
    used = in_use(found)
    if cache_lun is not None:
        # Declared by name: of whatever model it is. That it carries nothing is still for the plan to see.
        return tuple(replace(_disk(path, used), local=True) for path in at_lun(cache_lun))
    return tuple(_disk(path, used) for path in candidates())


def model(name: str) -> str | None:
    """Given a disk's kernel name, return its model, or None when it has none (a loop device)."""
    text = door.read(f"{SYS}/class/block/{name}/device/model")
    return text.strip() if text is not None else None


def in_use(found: Sequence[Mounted]) -> dict[str, list[str]]:
    """Given what is mounted, return for every whole disk (`major:minor`) where it, or a part of it, is in use."""
    used: dict[str, list[str]] = {}
    for mount in found:
        for disk in whole(_device(mount)):
            used.setdefault(disk, []).append(mount.point)
    for line in (door.read("/proc/swaps") or "").splitlines()[1:]:
        for disk in whole(number(line.split()[0]) or ""):
            used.setdefault(disk, []).append("swap")
    return used


def whole(device: str) -> set[str]:
    """Given a block device (`major:minor`), return the whole disks below it; itself where the kernel names none."""
    folder = os.path.realpath(f"{SYS}/dev/block/{device}")
    if os.path.exists(f"{folder}/partition"):
        return whole((door.read(f"{os.path.dirname(folder)}/dev") or "").strip())
    below = os.listdir(f"{folder}/slaves") if os.path.isdir(f"{folder}/slaves") else []
    numbers = [(door.read(f"{SYS}/class/block/{name}/dev") or "").strip() for name in below]
    return set().union(*(whole(one) for one in numbers if one)) or {device}


def number(path: str) -> str | None:
    """Given a device's path, return its `major:minor`, or None when it is no block device."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return f"{os.major(facts.st_rdev)}:{os.minor(facts.st_rdev)}" if stat.S_ISBLK(facts.st_mode) else None


def _device(mount: Mounted) -> str:
    """A mount's block device. btrfs mounts carry an anonymous number: there the source tells."""
    anonymous = mount.device.startswith("0:") and mount.source.startswith("/dev/")
    return (number(mount.source) or mount.device) if anonymous else mount.device


def _holder(name: str) -> str:
    """udev puts a RAID together as soon as its last member appears: then there is one, and no need to assemble it."""
    folder = f"{SYS}/class/block/{name}/holders"
    return ", ".join(f"/dev/{one}" for one in sorted(os.listdir(folder))) if os.path.isdir(folder) else ""


def _disk(path: str, used: dict[str, list[str]]) -> Disk:
    device = number(path)
    if device is None:
        return Disk(path, True, False, 0, None, "", "", False)
    said = door.run(blkid.probe(path))
    found, label = blkid.signature(said.rc, said.out)
    points = used.get(device, [])
    size = door.run(["blockdev", "--getsize64", path]).out.strip()
    kind = model(re.sub("^/dev/", "", path))
    return Disk(
        path=path,
        # Named by Azure, and yet of another model: then the name is wrong, and the disk is not touched.
        local=kind is None or kind.startswith(MODEL),
        node=True,
        bytes=int(size) if size.isdigit() else 0,
        signature=found,
        label=label,
        mounted=RESOURCE_DISK if RESOURCE_DISK in points else next(iter(points), ""),
        holds_root="/" in points,
        holder=_holder(re.sub("^/dev/", "", path)),
    )
