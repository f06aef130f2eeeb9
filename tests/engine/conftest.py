"""The real Pulumi engine over a control plane without machines: one stack, shared by the tests of a module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolchain.env import sandbox_env

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass
class Engine:
    """`pulumi` in its own state, against its own cloud."""

    folder: Path
    environment: dict[str, str]

    def pulumi(self, *argv: str, cwd: Path = CHECKOUT, code: int | None = 0, **variables: str) -> str:
        """Run pulumi and return everything it said; `code` is the exit code that is due (None: any but 0)."""
        done = subprocess.run(
            ["pulumi", *argv, "--non-interactive", "--color", "never"],
            cwd=cwd,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
        said = done.stdout + done.stderr
        assert (done.returncode != 0) if code is None else (done.returncode == code), (
            f"{argv}: {done.returncode}\n{said[-4000:]}"
        )
        return said


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """A fresh state and a fresh, empty cloud. The folder's path is short: a unix socket's may have 108 characters."""
    folder = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))
    socket = folder / "arm.sock"
    argv = [sys.executable, "-m", "sandbox.arm", "--socket", str(socket), "--state", str(folder / "cloud.json")]
    arm = subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            assert time.monotonic() < deadline and arm.poll() is None, "the control plane did not come up"
            time.sleep(0.05)
        (folder / "state").mkdir()
        variables = {
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "FEEDLINE_ARM_SOCKET": str(socket),
            "FEEDLINE_SSH_PROXY_COMMAND": "true %h %p",
        }
        yield Engine(folder, {**os.environ, **sandbox_env(CHECKOUT), **variables})
    finally:
        arm.terminate()
        arm.wait(10)
        shutil.rmtree(folder, ignore_errors=True)
