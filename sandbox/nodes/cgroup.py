"""One cgroup per node in every mounted hierarchy.

Without its own cgroup two nodes share `/payload/init.scope`, and `systemctl stop` in one of them leaves its processes
running. A v2-only machine has one hierarchy, this workplace nine; the code is the same for both.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

WANTED_V2 = ("io", "memory", "pids", "cpu")


def hierarchies(mountinfo: str) -> list[Path]:
    """Given the text of /proc/self/mountinfo, return where cgroup hierarchies are mounted, v1 and v2."""
    found: list[Path] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        where = Path(before.split()[4])
        if after.split()[0] in ("cgroup", "cgroup2") and where not in found:
            found.append(where)
    return found


class Cgroups:
    """The cgroups of one sandbox: `<hierarchy>/<sandbox>/<node>`."""

    def __init__(self, sandbox: str, mounts: Iterable[Path] | None = None) -> None:
        listed = hierarchies(Path("/proc/self/mountinfo").read_text()) if mounts is None else mounts
        self.parents = [mount / sandbox for mount in listed]

    def create(self, node: str) -> list[Path]:
        """Given a node, return its directory in every hierarchy, ready to take processes."""
        made = []
        for parent in self.parents:
            _make(parent)
            _make(parent / node)
            made.append(parent / node)
        return made

    def throttle_reads(self, node: str, device: str, bytes_per_second: int) -> bool:
        """Given a node and a block device `major:minor`, cap its reads. Return False if no hierarchy can do it."""
        for parent in self.parents:
            for name, value in (
                ("blkio.throttle.read_bps_device", f"{device} {bytes_per_second}"),
                ("io.max", f"{device} rbps={bytes_per_second}"),
            ):
                file = parent / node / name
                if file.exists():
                    file.write_text(value)
                    return True
        return False

    def kill(self, node: str, within: float = 5) -> None:
        """Given a node, kill whatever still runs in its cgroups and wait until nothing does. Raise TimeoutError."""
        deadline = time.monotonic() + within
        while pids := self._pids(node):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes of node {node} do not die: {sorted(pids)}")
            time.sleep(0.02)

    def remove(self, node: str | None = None) -> bool:
        """Remove the directories of a node, or of the whole sandbox. Return whether all are gone: busy ones stay."""
        tops = [parent if node is None else parent / node for parent in self.parents]
        for top in tops:
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        return not any(top.exists() for top in tops)

    def _pids(self, node: str) -> set[int]:
        pids: set[int] = set()
        for parent in self.parents:
            for folder, _, _ in os.walk(parent / node):
                with contextlib.suppress(OSError):
                    pids.update(map(int, (Path(folder) / "cgroup.procs").read_text().split()))
        # 0 is a process outside our PID namespace: not ours to touch.
        return pids - {0}


def _make(folder: Path) -> None:
    """Create one cgroup; hand it the CPUs (v1 cpuset starts empty) or the controllers (v2) that a node needs."""
    folder.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):
        file = folder / name
        if file.exists() and not file.read_text().strip():
            file.write_text((folder.parent / name).read_text())
    control = folder.parent / "cgroup.subtree_control"
    if control.exists():
        offered = (folder.parent / "cgroup.controllers").read_text().split()
        for controller in set(WANTED_V2) & set(offered):
            with contextlib.suppress(OSError):  # a busy controller costs a limit, not the node
                control.write_text(f"+{controller}")
