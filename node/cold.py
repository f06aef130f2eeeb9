"""A mount and a cache folder of their own for the cold leg, taken away again whatever happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from feedline.contract import Contract, Mount, Node
from feedline.errors import OperationError
from feedline.names import LOG_FOLDER, RESOURCE_DISK
from feedline.render.blobfuse2_yaml import render
from feedline.tools import mountinfo
from node import disks, door

WAIT_S = 60.0
STOP_S = 60.0
"""BlobFuse2 wipes its cache before it ends."""

RUN = "/run"


class ColdMount:
    """The same container as `mount`, read-only through file_cache, with an empty cache folder on the local NVMe.

    `path` and `cache` are valid inside the `with` block. Raise OperationError when the NVMe is not mounted, when the
    mount does not come up in a minute, or when something of it could not be taken away.
    """

    def __init__(self, contract: Contract, node: Node, mount: Mount, total_bytes: int) -> None:
        self._contract, self._mount, self._bytes = contract, mount, total_bytes
        self._folder = tempfile.mkdtemp(prefix="feedline-cold-", dir=RUN)
        self.path = os.path.join(self._folder, "mnt")
        self.cache = os.path.join(RESOURCE_DISK, os.path.basename(self._folder))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ColdMount:
        try:
            self._start()
            self._wait()
        except BaseException:
            self._take_away()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        left = self._take_away()
        if left and kind is None:  # what went wrong inside the block is told first
            raise OperationError(
                f"the cold leg left behind: {', '.join(left)}", where="validate", hint="take it away by hand"
            )

    def _start(self) -> None:
        if mountinfo.at(disks.mounts(), RESOURCE_DISK) is None:
            # The same folder on the OS disk would be filled, and measured.
            raise OperationError(f"nothing is mounted at {RESOURCE_DISK}", where="validate", hint="fab nvme")
        os.mkdir(self.path)
        os.mkdir(self.cache, 0o700)
        cold = replace(self._mount, path=self.path, cache=self.cache, mode="file_cache", read_only=True)
        text = render(
            cold,
            self._contract.account(cold.account),
            self._contract.identity(cold.identity),
            disk_bytes=self._bytes * 2,
            cores=os.cpu_count() or 1,
            log_name="cold",
        )
        config = os.path.join(self._folder, "config.yaml")
        door.write(config, text, mode=0o600)
        argv = ["blobfuse2", "mount", self.path, f"--config-file={config}", "--disable-version-check=true"]
        with open(os.path.join(self._folder, "out"), "wb") as out:
            self._process = subprocess.Popen(
                [*argv, "--foreground"], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=door.ENVIRONMENT
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while not self._mounted():
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                said = Path(self._folder, "out").read_text(errors="replace").strip().splitlines()[-3:]
                raise OperationError(
                    "\n  ".join(["the cold leg's mount did not come up", *said]),
                    where=f"{LOG_FOLDER}/cold.log",
                    hint="fab access, then fab doctor",
                )
            time.sleep(0.1)

    def _mounted(self) -> bool:
        """As the kernel's table tells it: asked itself, a dead mount answers "not connected", which os.path.ismount
        takes for "not mounted", and a stuck one does not answer."""
        return mountinfo.at(disks.mounts(), self.path) is not None

    def _take_away(self) -> list[str]:
        """Unmount, end the daemon, delete both folders; return what is left all the same."""
        if self._mounted():
            door.run(["blobfuse2", "unmount", self.path], timeout_s=STOP_S)
            self._detach()  # busy, or its daemon is dead
        elif self._process is not None:
            self._process.terminate()  # it never came up, and would be waited for
        if self._process is not None:
            _end(self._process)
        self._detach()  # it came up in the very last moment
        shutil.rmtree(self.cache, ignore_errors=True)
        if self._mounted():
            return [self.path]  # what is seen through it is not ours to delete
        shutil.rmtree(self._folder, ignore_errors=True)
        return [folder for folder in (self.cache, self._folder) if os.path.lexists(folder)]

    def _detach(self) -> None:
        if self._mounted():
            door.run(["fusermount3", "-uz", self.path])


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel: nobody can end it
            process.wait(timeout=door.KILL_WAIT_S)
