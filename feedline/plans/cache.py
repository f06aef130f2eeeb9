"""What has to change so that every mount of a node is there, as configured, cached on the NVMe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from feedline.contract import Mount
from feedline.errors import OperationError
from feedline.facts import MountFacts
from feedline.names import CONFIG_FOLDER, LOG_FOLDER, RESOURCE_DISK, mount_config, mount_unit
from feedline.plan import Plan, Step
from feedline.render.units import RESTART_S
from feedline.sizing import NVME_FILL
from feedline.tools.blobfuse2 import allows_other
from feedline.units import human_bytes

FUSE_CONF = "/etc/fuse.conf"


@dataclass(frozen=True)
class Wanted:
    """One mount as it should be: its path and the texts of configuration and unit, with their hashes."""

    name: str
    path: str
    config: str
    unit: str
    config_sha256: str
    unit_sha256: str


def cache_share(mounts: Sequence[Mount], *, disk_bytes: int, dataset_bytes: int) -> int:
    """Given a node's mounts, the size of its cache disk and of the data set (bytes), return how much of the disk each
    file cache may count on.

    Raise OperationError when a preloaded data set does not fit: BlobFuse2's preload knows no limit and would fill the
    disk.
    """
    if not disk_bytes:
        return 0
    preloads = any(mount.mode == "preload" for mount in mounts)
    if preloads and dataset_bytes > disk_bytes * NVME_FILL:
        raise OperationError(
            f"the data set ({human_bytes(dataset_bytes)}) does not fit {RESOURCE_DISK} "
            f"({human_bytes(disk_bytes)}, of which a preload may take {NVME_FILL:.0%})",
            where="cache",
            hint="a size with more local NVMe, a smaller data set, or `feed.mode: file_cache` in the settings",
        )
    rest = disk_bytes - (dataset_bytes if preloads else 0)
    return rest // max(1, sum(mount.mode == "file_cache" for mount in mounts))


def right(wanted: Wanted, fact: MountFacts) -> bool:
    """Whether a mount is as it should be: there, alive, and its daemon started from the files that are wanted."""
    return (
        fact.mounted
        and fact.live
        and fact.unit_active == "active"
        and fact.enabled
        and _written(wanted, fact) == (True, True)
        and (fact.loaded_config, fact.loaded_unit) == (wanted.config_sha256, wanted.unit_sha256)
    )


def plan(
    wanted: Sequence[Wanted],
    now: Sequence[MountFacts],
    *,
    nvme_mounted: bool,
    fuse_conf: str,
    folders: Sequence[str],
    reload: Mapping[str, str] | None = None,
) -> Plan:
    """Given the mounts as they should be and as they are, return the steps; a mount that is right is not touched.

    `fuse_conf` is /etc/fuse.conf's text, `folders` the mount points that exist, `reload` names mounts whose cache is
    not the data set, with the reason. Raise OperationError without the local NVMe: BlobFuse2 would quietly fill the
    OS disk.
    """
    if not nvme_mounted:
        raise OperationError(f"the local NVMe is not mounted at {RESOURCE_DISK}", where="cache", hint="fab nvme")
    facts = {fact.name: fact for fact in now}
    steps: list[Step] = []
    for mount in wanted:
        why = (reload or {}).get(mount.name, "")
        if why or not right(mount, facts[mount.name]):
            steps += _mount_steps(mount, facts[mount.name], mount.path in folders, why)
    if not steps:
        return Plan(nothing_because=f"{', '.join(m.path for m in wanted)}: mounted, alive, as configured")
    if not allows_other(fuse_conf):
        text = f"{fuse_conf.rstrip()}\nuser_allow_other\n".lstrip()
        steps.insert(0, Step.write(FUSE_CONF, text, "other users may read the mounts"))
    return Plan(tuple(steps))


def _written(mount: Wanted, fact: MountFacts) -> tuple[bool, bool]:
    """Whether configuration and unit on disk are the wanted ones - and the daemon's configuration is that file."""
    same_file = fact.config_path == mount_config(mount.name)
    return fact.config_sha256 == mount.config_sha256 and same_file, fact.unit_sha256 == mount.unit_sha256


def _mount_steps(mount: Wanted, fact: MountFacts, folder_exists: bool, reload: str) -> list[Step]:
    unit, config_path, steps = mount_unit(mount.name), mount_config(mount.name), []
    same_config, same_unit = _written(mount, fact)
    if not folder_exists:
        steps.append(Step.folder(mount.path, f"mount point of {mount.name}"))
    if not same_config:
        steps.append(Step.folder(CONFIG_FOLDER, "configurations"))
        steps.append(Step.folder(LOG_FOLDER, "logs"))
        steps.append(Step.write(config_path, mount.config, f"BlobFuse2's configuration of {mount.name}", mode=0o600))
    if not same_unit:
        steps.append(Step.write(f"/etc/systemd/system/{unit}", mount.unit, f"the unit that holds {mount.name}"))
    # Also when the file is right: whoever wrote it may have been interrupted before systemd read it.
    if not same_unit or fact.loaded_unit != mount.unit_sha256:
        steps.append(Step.run(("systemctl", "daemon-reload"), "systemd reads its units again"))
    if fact.mounted and not fact.live:
        steps.append(Step.run(("fusermount3", "-uz", mount.path), f"{mount.path} is dead: take it away"))
    if fact.unit_active == "failed":
        steps.append(Step.run(("systemctl", "reset-failed", unit), "forget earlier failures"))
    if not fact.enabled:
        steps.append(Step.run(("systemctl", "enable", unit), f"mount {mount.name} at every boot"))
    if reload or not right(mount, _enabled(fact)):
        why = f"mount {mount.path}" + (f" and load it again: {reload}" if reload else "")
        steps.append(Step.run(("systemctl", "restart", unit), why, timeout_s=RESTART_S))
    return steps


def _enabled(fact: MountFacts) -> MountFacts:
    """The same mount, enabled: that alone needs no restart."""
    return replace(fact, enabled=True)
