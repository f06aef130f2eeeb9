"""The disks of a node: loop devices over files, read and written past the page cache.

Each loop is held by a file descriptor of the controller and marked to clear itself, so that the controller's death, by
whatever signal, frees it. Without direct I/O the machine's RAM would pass as NVMe (0.05 s for 300 MiB), so every loop's
direct-io flag is read back and reported.
"""

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox.nodes.tools import ToolError, run


@dataclass
class Loop:
    """An attached loop device. `number` is its `major:minor`; `direct` says whether it goes past the page cache."""

    device: str
    number: str
    direct: bool
    file: str
    _fd: int

    def close(self, within: float = 5) -> None:
        """Let go and wait until the kernel has detached the loop. Raise ToolError if something still holds it."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        deadline = time.monotonic() + within
        backing = Path(f"/sys/block/{Path(self.device).name}/loop/backing_file")
        # Two loops over one file, both mounted, would ruin its file system: never go on before the first is gone.
        while _read(backing) == self.file:
            if time.monotonic() > deadline:
                raise ToolError(f"{self.device} over {self.file} is still held by something")
            time.sleep(0.01)


def attach(file: Path) -> Loop:
    """Given a disk file, return it as a loop device that ends with this process. Raise ToolError if it cannot be."""
    if others := run(["losetup", "--associated", str(file)]).strip():
        raise ToolError(f"{file} is a loop device already: {others}")
    device = run(["losetup", "--find", "--show", "--direct-io=on", str(file)]).strip()
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    run(["losetup", "--detach", device])  # in use by our fd: this only marks it to clear itself
    info = Path(device).stat()
    flag = Path(f"/sys/block/{Path(device).name}/loop/dio").read_text().strip()
    return Loop(device, f"{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}", flag == "1", str(file), fd)


def copy_image(image: Path, disk: Path) -> None:
    """Given the node image, make a node's OS disk of it: a sparse copy, whole or not there at all."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    part = disk.with_suffix(".part")
    run(["cp", "--reflink=auto", str(image), str(part)], timeout=120)
    part.rename(disk)


def new_disk(disk: Path, size: int) -> None:
    """Make an empty disk of `size` bytes, as new as Azure's local NVMe after a deallocation."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        os.truncate(file.fileno(), size)


def detach_stale(folder: Path) -> list[str]:
    """Detach loops over files of `folder` that a killed sandbox left in the moment before it held them; return them."""
    listed = json.loads(run(["losetup", "--list", "--json", "--output", "NAME,BACK-FILE"]) or '{"loopdevices": []}')
    stale = [loop["name"] for loop in listed["loopdevices"] if str(loop["back-file"] or "").startswith(f"{folder}/")]
    for device in stale:
        with contextlib.suppress(ToolError):
            run(["losetup", "--detach", device])
    return stale


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:  # no such file, or the device went away in between: not attached
        return None
