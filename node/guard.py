"""Called by a mount's systemd unit: refuses a cache on the wrong disk, and waits until a mount is really there.

guard.py cache CONFIG ROOT    the cache folder of CONFIG must be below ROOT, on another device than `/`; it is made
guard.py mounted PATH SECONDS wait until a FUSE file system is mounted at PATH
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from feedline.tools.blobfuse2 import cache_path

POLL_S = 0.2


def check_cache(config: str, root: str) -> None:
    """Given a configuration and the folder all caches live below, make the cache folder. Exit with a sentence when
    it is not on the local NVMe: BlobFuse2 would make it on the OS disk and fill that."""
    cache = cache_path(Path(config).read_text())
    if cache is None or not re.match(re.escape(root) + "/[^/]+$", cache):
        sys.exit(f"{config}: cache {cache} is not directly below {root}: run `fab cache`")
    parent = os.path.dirname(root)
    if os.stat(parent).st_dev == os.stat("/").st_dev:
        sys.exit(f"{parent} is on the OS disk: the local NVMe is not mounted; run `fab nvme`")
    os.makedirs(cache, mode=0o700, exist_ok=True)


def wait_mounted(path: str, seconds: float) -> None:
    """Given a mount point, return once something of type fuse is mounted there. Exit with a sentence when it takes
    longer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            left, _, right = line.partition(" - ")
            if left.split()[4] == path and right.startswith("fuse"):
                return
        time.sleep(POLL_S)
    sys.exit(f"{path} was not mounted within {seconds:g} s: see /var/log/feedline and `journalctl -u` of this unit")


if __name__ == "__main__":
    what, first, second = sys.argv[1:]
    if what == "cache":
        check_cache(first, second)
    else:
        wait_mounted(first, float(second))
