"""The small cluster, for the tests of the runbook's own side; and a control plane to ask."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.arm import Arm
from scripts.places import CHECKOUT
from tests.shared.small_cluster import cluster as cluster


@dataclass
class ControlPlane:
    """The simulated Azure's control plane, empty, with nothing behind its machines."""

    folder: Path
    environ: dict[str, str]

    def facts(self, **facts: Any) -> None:
        """Say what the subscription may have from now on (sandbox/cloud/subscription.py)."""
        (self.folder / "subscription.json").write_text(json.dumps(facts))

    @property
    def arm(self) -> Arm:
        """The runbook's own door to it."""
        return Arm.sandbox(self.environ)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of its own. The folder's path is short: a unix socket's may have 108 characters."""
    folder = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))
    socket = folder / "arm.sock"
    argv = [sys.executable, "-m", "sandbox.arm", "--socket", str(socket), "--state", str(folder / "cloud.json")]
    process = subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            assert time.monotonic() < deadline and process.poll() is None, "the control plane did not come up"
            time.sleep(0.05)
        yield ControlPlane(folder, {"FEEDLINE_ARM_SOCKET": str(socket)})
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)
