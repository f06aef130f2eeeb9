"""Called by a mount's systemd unit: refuses a cache on the wrong disk, and waits until a mount is really there.

guard.py start MOUNT ROOT     the cache folder must be below ROOT, on another device than `/`; it is made, and what
                              the daemon starts from is noted
guard.py mounted PATH SECONDS wait until a FUSE file system is mounted at PATH
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from feedline.names import mount_config, mount_unit
from feedline.render.units import started_record
from feedline.tools import mountinfo
from feedline.tools.blobfuse2 import cache_path

POLL_S = 0.2
UNITS = "/etc/systemd/system"


def check_cache(config: str, root: str) -> None:
    """Given a configuration and the folder all caches live below, make the cache folder. Exit with a sentence when
    it is not on the local NVMe: BlobFuse2 would make it on the OS disk and fill that."""
    cache = cache_path(Path(config).read_text())
    if cache is None or not re.match(re.escape(root) + "/[^/]+$", cache):
        sys.exit(f"{config}: cache {cache} is not directly below {root}: run `fab cache`")
    parent = os.path.dirname(root)
    if device(parent) == device("/"):
        sys.exit(f"{parent} is on the OS disk: the local NVMe is not mounted; run `fab nvme`")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    if device(cache) != device(parent):
        sys.exit(f"{cache} is on another device than {parent}: take away what is mounted there")


def device(path: str) -> int:
    """Given a path, return the number of the device it is on."""
    return os.stat(path).st_dev


def note_start(mount: str) -> None:
    """Note from which files this start is made: they may be written again while the daemon runs."""
    unit = f"{UNITS}/{mount_unit(mount)}"
    record = {
        "invocation": os.environ.get("INVOCATION_ID", ""),
        "config_sha256": hashlib.sha256(Path(mount_config(mount)).read_bytes()).hexdigest(),
        "unit_sha256": hashlib.sha256(Path(unit).read_bytes()).hexdigest(),
    }
    path = Path(started_record(mount))
    path.parent.mkdir(mode=0o755, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(record) + "\n")
    new.replace(path)


def wait_mounted(path: str, seconds: float) -> None:
    """Given a mount point, return once something of type fuse is mounted there. Exit with a sentence when it takes
    longer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if mountinfo.at(mountinfo.parse(Path("/proc/self/mountinfo").read_text()), path, kind="fuse"):
            return
        time.sleep(POLL_S)
    sys.exit(f"{path} was not mounted within {seconds:g} s: see /var/log/feedline and `journalctl -u` of this unit")


if __name__ == "__main__":
    what, first, second = sys.argv[1:]
    if what == "start":
        check_cache(mount_config(first), second)
        note_start(first)
    else:
        wait_mounted(first, float(second))
