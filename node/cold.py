"""A mount and a cache folder of their own for the cold leg, taken away again whatever happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from feedline.contract import Contract, Mount, Node
from feedline.errors import OperationError
from feedline.names import LOG_FOLDER, RESOURCE_DISK
from feedline.render.blobfuse2_yaml import render
from node import door

WAIT_S = 60.0


class ColdMount:
    """The same container as `mount`, read-only through file_cache, with an empty cache folder on the local NVMe.

    `path` and `cache` are valid inside the `with` block. Raise OperationError when it does not mount in a minute.
    """

    def __init__(self, contract: Contract, node: Node, mount: Mount, total_bytes: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="feedline-cold-", dir="/run")
        self.path = os.path.join(self._folder, "mnt")
        self.cache = os.path.join(RESOURCE_DISK, os.path.basename(self._folder))
        self._config = os.path.join(self._folder, "config.yaml")
        self._process: subprocess.Popen[bytes] | None = None
        cold = replace(mount, path=self.path, cache=self.cache, mode="file_cache", read_only=True)
        self._text = render(
            cold,
            contract.account(mount.account),
            contract.identity(mount.identity),
            disk_bytes=total_bytes * 2,
            cores=os.cpu_count() or 1,
            log_name="cold",
        )

    def __enter__(self) -> ColdMount:
        os.mkdir(self.path)
        os.mkdir(self.cache, 0o700)
        door.write(self._config, self._text, mode=0o600)
        argv = [
            "blobfuse2",
            "mount",
            self.path,
            f"--config-file={self._config}",
            "--disable-version-check=true",
            "--foreground",
        ]
        with open(os.path.join(self._folder, "out"), "wb") as out:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=door.ENVIRONMENT
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while not os.path.ismount(self.path):
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                said = Path(self._folder, "out").read_text(errors="replace").strip().splitlines()[-3:]
                raise OperationError(
                    "\n  ".join(["the cold leg's mount did not come up", *said]),
                    where=f"{LOG_FOLDER}/cold.log",
                    hint="fab access, then fab doctor",
                )
            time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        door.run(["blobfuse2", "unmount", self.path], timeout_s=60)
        if os.path.ismount(self.path):
            door.run(["fusermount3", "-uz", self.path])
        if self._process is not None:
            try:
                self._process.wait(timeout=60)  # it wipes its cache before it ends
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.cache, ignore_errors=True)
        shutil.rmtree(self._folder, ignore_errors=True)
