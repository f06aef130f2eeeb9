"""How a mount is now: what the kernel, systemd, the daemon's own command line and its start record say."""

from __future__ import annotations

import hashlib
import json
import os

from feedline.contract import Mount
from feedline.facts import MountFacts
from feedline.names import mount_config, mount_unit
from feedline.render.units import started_record
from feedline.tools import blobfuse2, mountinfo, systemd
from node import disks, door

LIVE_S = 5.0


def boot_id() -> str:
    """Return this boot's id; uptime is the machine's in a container, the boot id is not."""
    return (door.read("/proc/sys/kernel/random/boot_id") or "").strip()


def mount_facts(mount: Mount) -> MountFacts:
    """Given a mount of the contract, return how it is now, as its running daemon and the kernel tell it."""
    name = mount_unit(mount.name)
    unit = systemd.parse(door.run(systemd.show(name)).out)
    found = mountinfo.at(disks.mounts(), mount.path, kind="fuse")
    config = mount_config(mount.name)
    if unit.main_pid:
        argv = (door.read(f"/proc/{unit.main_pid}/cmdline") or "").split("\0")
        config = blobfuse2.config_file(argv) or config
    text = door.read(config) or ""
    cache = blobfuse2.cache_path(text) if found else None
    loaded = _loaded(mount.name, unit.invocation) if unit.main_pid else {}
    return MountFacts(
        name=mount.name,
        path=mount.path,
        mounted=found is not None,
        read_only=found is not None and "ro" in found.options,
        live=_live(mount.path) if found else False,
        main_pid=unit.main_pid,
        started=_started(unit.main_pid),
        unit_active=unit.active,
        config_path=config,
        config_sha256=_sha256(text),
        cache_path=cache,
        cache_device=_device(cache) if cache else None,
        os_device=_device("/") or "",
        boot_id=boot_id(),
        unit_sha256=_sha256(door.read(f"/etc/systemd/system/{name}") or ""),
        mount_id=found.mount_id if found else None,
        loaded_config=loaded.get("config_sha256", ""),
        loaded_unit=loaded.get("unit_sha256", ""),
        enabled=unit.enabled,
    )


def _loaded(mount: str, invocation: str) -> dict[str, str]:
    """What the unit noted at this very start; a note of an earlier start says nothing about this daemon."""
    try:
        record = json.loads(door.read(started_record(mount)) or "{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) and invocation and record.get("invocation") == invocation else {}


def _live(path: str) -> bool:
    """A dead daemon answers ENOTCONN, a stuck one not at all: so it is asked in a process that can be given up."""
    return door.run(["stat", "--file-system", path], timeout_s=LIVE_S).ok


def _device(path: str) -> str | None:
    try:
        number = os.stat(path).st_dev
    except OSError:
        return None
    return f"{os.major(number)}:{os.minor(number)}"


def _started(pid: int | None) -> str:
    """The process's start, in clock ticks since boot: a process id comes back, the pair of both does not."""
    text = door.read(f"/proc/{pid}/stat") if pid else None
    return text.rsplit(")", 1)[1].split()[19] if text else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
