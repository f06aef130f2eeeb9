"""What has to change so that every mount of a node is there, as configured, cached on the NVMe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedline.errors import OperationError
from feedline.facts import MountFacts
from feedline.names import CONFIG_FOLDER, LOG_FOLDER, mount_config, mount_unit
from feedline.plan import Plan, Step

START_S = 180.0


@dataclass(frozen=True)
class Wanted:
    """One mount as it should be: its path, whether it is there now, and the texts of configuration and unit."""

    name: str
    path: str
    config: str
    unit: str
    config_sha256: str
    unit_sha256: str


def plan(
    wanted: Sequence[Wanted], now: Sequence[MountFacts], *, nvme_mounted: bool, fuse_conf: str, folders: Sequence[str]
) -> Plan:
    """Given the mounts as they should be and as they are, return the steps; a mount that is right is not touched.

    `fuse_conf` is /etc/fuse.conf's text, `folders` the mount points that exist. Raise OperationError without the
    local NVMe: BlobFuse2 would quietly fill the OS disk.
    """
    if not nvme_mounted:
        raise OperationError("the local NVMe is not mounted at /mnt/resource", where="cache", hint="fab nvme")
    facts = {fact.name: fact for fact in now}
    steps: list[Step] = []
    for mount in wanted:
        steps += _mount_steps(mount, facts[mount.name], mount.path in folders)
    if steps and "user_allow_other" not in fuse_conf.split():
        steps.insert(
            0,
            Step.write(
                "/etc/fuse.conf", f"{fuse_conf.rstrip()}\nuser_allow_other\n", "other users may read the mounts"
            ),
        )
    if not steps:
        return Plan(nothing_because=f"{', '.join(m.path for m in wanted)}: mounted, alive, as configured")
    return Plan(tuple(steps))


def _mount_steps(mount: Wanted, fact: MountFacts, folder_exists: bool) -> list[Step]:
    unit, steps = mount_unit(mount.name), []
    config_path = mount_config(mount.name)
    if not folder_exists:
        steps.append(Step.folder(mount.path, f"mount point of {mount.name}"))
    # The daemon's own --config-file counts: whoever started it with another one did not start this mount.
    same_config = fact.config_sha256 == mount.config_sha256 and fact.config_path == config_path
    if not same_config:
        steps.append(Step.folder(CONFIG_FOLDER, "configurations"))
        steps.append(Step.folder(LOG_FOLDER, "logs"))
        steps.append(Step.write(config_path, mount.config, f"BlobFuse2's configuration of {mount.name}", mode=0o600))
    same_unit = fact.unit_sha256 == mount.unit_sha256
    if not same_unit:
        steps.append(Step.write(f"/etc/systemd/system/{unit}", mount.unit, f"the unit that holds {mount.name}"))
        steps.append(Step.run(("systemctl", "daemon-reload"), "systemd reads its units again"))
    healthy = fact.mounted and fact.live and fact.unit_active == "active"
    if steps or not healthy:
        if fact.mounted and not fact.live:
            steps.append(Step.run(("fusermount3", "-uz", mount.path), f"{mount.path} is dead: take it away"))
        steps.append(
            Step.run(("systemctl", "reset-failed", unit), "forget earlier failures")
        ) if fact.unit_active == "failed" else None
        steps.append(Step.run(("systemctl", "enable", unit), f"mount {mount.name} at every boot"))
        steps.append(Step.run(("systemctl", "restart", unit), f"mount {mount.path}", timeout_s=START_S))
    return steps
