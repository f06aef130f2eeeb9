"""From blank local NVMe disks to one file system at /mnt/resource - and never from any other disk."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from feedline.errors import OperationError
from feedline.facts import Disk, Nvme
from feedline.names import NVME_LABEL, NVME_UNIT, RESOURCE_DISK
from feedline.plan import Plan, Step
from feedline.render.units import TOOL_FOLDER, nvme_unit
from feedline.units import human_bytes

ARRAY_NAME = "feedline"
ARRAY = f"/dev/md/{ARRAY_NAME}"
CHUNK = "512K"
XFS_MIN_BYTES = 300 * 2**20
"""mkfs.xfs refuses less (xfsprogs 5.19 and newer)."""


def plan(facts: Nvme, *, wipe: Collection[str] = ()) -> Plan:
    """Given the facts, return the steps; `wipe` names disks whose content a person gave up.

    Raise OperationError when there is no local NVMe, or when a disk holds something that is not ours.
    """
    unknown = sorted(set(wipe) - {disk.path for disk in usable(facts.disks)})
    if unknown:
        raise OperationError(
            f"--wipe {','.join(unknown)}: no local NVMe disk",
            where="nvme",
            hint=f"there are: {', '.join(disk.path for disk in usable(facts.disks)) or 'none'}; others are never wiped",
        )
    steps = [*disk_steps(facts, wipe=wipe), *_boot_steps(facts)]
    if not steps:
        return Plan(
            nothing_because=f"{RESOURCE_DISK} is {facts.mounted_source} ({facts.mounted_type}, label {NVME_LABEL}), "
            f"re-made at every boot by {NVME_UNIT}"
        )
    return Plan(tuple(steps))


def disk_steps(facts: Nvme, *, wipe: Collection[str] = ()) -> list[Step]:
    """Given the facts, return the steps on disks alone: what the boot unit does, too."""
    disks = usable(facts.disks)
    if facts.mounted_source:
        # Not by the source's name: /dev/md/feedline is /dev/md127 there.
        if not any(disk.mounted == RESOURCE_DISK for disk in disks):
            raise OperationError(
                f"{RESOURCE_DISK} is {facts.mounted_source}, which is no local NVMe disk",
                where="nvme",
                hint="unmount it, take it out of /etc/fstab (waagent: ResourceDisk.Format=n), then `fab nvme` again",
            )
        return []
    if not disks and facts.cache_lun is not None:
        raise OperationError(
            f"no disk at LUN {facts.cache_lun}",
            where="nvme",
            hint="nodes.cache_disk_gib declares it: `pulumi up`, then look at /dev/disk/azure",
        )
    if not disks:
        raise OperationError(
            "no local NVMe disk here",
            where="nvme",
            hint="the size has none, or an ephemeral OS disk took them (see /dev/disk/azure/local and disk models)",
        )
    _refuse_foreign(disks, wipe)
    held = sorted({d.holder for d in disks if d.path in wipe and d.holder.startswith("/dev/md")})
    cleared = [Step.run(("mdadm", "--stop", array), f"stop {array}, which holds the disks") for array in held]
    cleared += [
        Step.run(("wipefs", "--all", d.path), f"wipe {d.path} ({d.signature})", destroys=d.path)
        for d in disks
        if d.path in wipe
    ]
    device, made = _device(disks, wipe)
    return [
        *cleared,
        *made,
        *_mountpoint(facts),
        Step.run(("mount", "-o", "noatime,nodev,nosuid", device, RESOURCE_DISK), f"mount it at {RESOURCE_DISK}"),
    ]


def usable(disks: Sequence[Disk]) -> list[Disk]:
    """Given all disks, return those that are surely local NVMe: reached by name or model, with a block node, not the
    OS's."""
    return [disk for disk in disks if disk.local and disk.node and not disk.holds_root]


def _refuse_foreign(disks: Sequence[Disk], wipe: Collection[str]) -> None:
    told = []
    for disk in disks:
        if disk.mounted:
            told.append(f"{disk.path} is mounted at {disk.mounted}")
        elif disk.signature is None:
            told.append(f"{disk.path} could not be read")
        elif disk.signature and not _ours(disk) and disk.path not in wipe:
            told.append(f"{disk.path} holds {disk.signature}{f' labelled {disk.label}' if disk.label else ''}")
    if told:
        raise OperationError(
            "\n".join(["these local disks are not blank and not ours:", *(f"  - {t}" for t in told)]),
            where="nvme",
            hint="if nobody needs what is on them: fab nvme --wipe DEVICE (asks for the cluster's name)",
        )


def _ours(disk: Disk) -> bool:
    """A file system with our label, or a member of our array: mdadm labels it `feedline` or `<host>:feedline`."""
    if disk.signature == "linux_raid_member":
        return disk.label.rpartition(":")[2] == ARRAY_NAME
    return disk.label == NVME_LABEL


def _device(disks: Sequence[Disk], wipe: Collection[str]) -> tuple[str, list[Step]]:
    """Return the device to mount and the steps that make its file system."""
    fresh = [d for d in disks if not d.signature or d.path in wipe]
    paths = [disk.path for disk in disks]
    # One disk wants a file system, several want members of one array: what another number of disks left is refused.
    if not fresh and any((disk.signature == "linux_raid_member") == (len(disks) == 1) for disk in disks):
        held = ", ".join(f"{disk.path} ({disk.signature})" for disk in disks)
        raise OperationError(
            f"made for another number of disks: {held}",
            where="nvme",
            hint=f"make them anew: fab nvme --wipe {','.join(paths)}",
        )
    if len(disks) == 1:
        return paths[0], [_mkfs(paths[0], disks[0].bytes)] if fresh else []
    if not fresh and len({disk.holder for disk in disks}) == 1 and disks[0].holder:
        return disks[0].holder, []  # udev has put it together already
    if not fresh:
        return ARRAY, [Step.run(("mdadm", "--assemble", ARRAY, *paths), f"assemble the RAID 0 of {len(paths)} disks")]
    if len(fresh) < len(disks):
        old = ", ".join(d.path for d in disks if d not in fresh)
        raise OperationError(
            f"{len(fresh)} of {len(disks)} local disks are blank; {old} belong to an incomplete earlier array",
            where="nvme",
            hint=f"its data is gone with the missing members: fab nvme --wipe {old.replace(', ', ',')}",
        )
    total = sum(disk.bytes for disk in disks)
    create = (
        "mdadm",
        "--create",
        ARRAY,
        f"--name={ARRAY_NAME}",
        "--level=0",
        f"--chunk={CHUNK}",
        f"--raid-devices={len(paths)}",
        "--run",
        *paths,
    )
    return ARRAY, [Step.run(create, f"RAID 0 over {len(paths)} disks, {human_bytes(total)}"), _mkfs(ARRAY, total)]


def _mkfs(device: str, size: int) -> Step:
    if size > XFS_MIN_BYTES:
        return Step.run(
            ("mkfs.xfs", "-q", "-L", NVME_LABEL, device), f"xfs on {device}, {human_bytes(size)}: it is blank"
        )
    return Step.run(
        ("mkfs.ext4", "-q", "-L", NVME_LABEL, device), f"ext4 on {device}, {human_bytes(size)}: it is blank"
    )


def _mountpoint(facts: Nvme) -> list[Step]:
    """While nothing is mounted there nobody may write there: the OS disk would fill unseen."""
    steps = [Step.folder(RESOURCE_DISK, "the mount point")] if facts.mountpoint == "missing" else []
    if facts.mountpoint != "protected":
        why = "nothing can be written to the bare mount point on the OS disk"
        steps.append(
            Step.run(("chattr", "+i", RESOURCE_DISK), why)
            if facts.attributes
            else Step.folder(RESOURCE_DISK, f"{why}, except by root", mode=0o000)
        )
    return steps


def _boot_steps(facts: Nvme) -> list[Step]:
    steps = []
    if not facts.tool_current:
        steps.append(Step.folder(TOOL_FOLDER, "what boots does not depend on the bundle sent last"))
        for part in ("feedline", "node"):
            old, new = f"{TOOL_FOLDER}/{part}", f"{facts.bundle}/{part}"
            # Whole, not merged: a module that is gone from the bundle must not stay behind.
            steps.append(Step.run(("rm", "--recursive", "--force", old), f"take the old {part} away"))
            steps.append(Step.run(("cp", "--recursive", "--no-target-directory", new, old), f"copy {part} there"))
    if not facts.unit_current:
        unit = f"/etc/systemd/system/{NVME_UNIT}"
        steps.append(
            Step.write(
                unit,
                nvme_unit(facts.cache_lun),
                "the disk comes back empty after a deallocation: made again at every boot",
            )
        )
        steps.append(Step.run(("systemctl", "daemon-reload"), "systemd reads its units again"))
    if not facts.unit_enabled:
        steps.append(Step.run(("systemctl", "enable", "--now", NVME_UNIT), f"enable {NVME_UNIT}"))
    return steps
