"""Start, stop and clean a sandbox, from the machine's own namespaces."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import client
from sandbox.layout import Layout
from sandbox.nodes import disks
from sandbox.nodes.cgroup import Cgroups
from sandbox.nodes.image import ensure_image
from sandbox.preflight import Tools, search_path

KEPT_WHEN_FRESH = ("lock", "keys", "packages")
START_WITHIN = 180.0  # seconds; nodes of an earlier run are booted again in this time
STOP_WITHIN = 20.0
Say = Callable[[str], None]


class LifecycleError(RuntimeError):
    """The sandbox could not be started or stopped; the message says what, where and what to do."""


@dataclass(frozen=True)
class Process:
    """The sandbox's init as the machine sees it; `started` (ticks since boot) tells it from a reuse of its PID."""

    pid: int
    started: int

    def alive(self) -> bool:
        return _started(self.pid) == self.started


def up(layout: Layout, checkout: Path, tools: Tools, *, fresh: bool, say: Say) -> dict[str, Any]:
    """Start the sandbox if it does not run, and return its status once it is healthy. Raise LifecycleError."""
    with _locked(layout):
        if fresh:
            _stop(layout)
            for entry in layout.root.iterdir():
                if entry.name not in KEPT_WHEN_FRESH:
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if not _healthy(layout):
            _stop(layout)  # whatever is left of one that does not answer
            image = ensure_image(layout.images, say)
            say("starting the sandbox …")
            _start(layout, checkout, tools, image)
        for node in status(layout)["nodes"]:
            if node["power"] == "failed":
                say(f"node {node['name']} had failed; starting it again …")
                client.call(layout.arm_socket, "POST", f"/sandbox/nodes/{node['name']}/start", timeout=120)
        return status(layout)


def down(layout: Layout) -> bool:
    """Stop the sandbox and clean what it, or a killed one, left. Return whether one was running."""
    with _locked(layout):
        return _stop(layout)


def status(layout: Layout) -> dict[str, Any]:
    """Return what the controller says about itself. Raise Unreachable if it does not run."""
    code, answer = client.call(layout.arm_socket, "GET", "/sandbox/status")
    if code != 200:
        raise LifecycleError(f"the controller answered {code}: {answer}")
    return dict(answer)


def process(layout: Layout) -> Process | None:
    """Return the sandbox's init, or None if it does not run."""
    # Asked of the kernel, not of a file: a start that was killed half-way leaves no process that is not found.
    mine = ["-m", "sandbox.init", f"--sandbox={layout.name}"]
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if (entry / "cmdline").read_text().split("\0")[1:4] == mine and (started := _started(int(entry.name))):
                return Process(int(entry.name), started)
    return None


@contextlib.contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    """Hold the checkout's lock: two `up` at once wait for each other."""
    layout.root.mkdir(parents=True, exist_ok=True)
    with layout.lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _healthy(layout: Layout) -> bool:
    if process(layout) is None:
        return False
    try:
        return client.call(layout.arm_socket, "GET", "/sandbox/health", timeout=5)[0] == 200
    except client.Unreachable:
        return False


def _start(layout: Layout, checkout: Path, tools: Tools, image: Path) -> None:
    for folder in (layout.run, layout.logs):
        folder.mkdir(parents=True, exist_ok=True)
    layout.run.chmod(0o711)  # nginx's workers pass through to the authorizer's socket
    log = layout.logs / "controller.log"
    options = [f"--{name}={path}" for name, path in vars(tools).items() if path is not None]
    # -m finds the package by the working folder; the environment's own module path must not lead elsewhere.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": search_path()}
    with log.open("wb") as output:
        outer = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--pid",
                "--net",
                "--fork",
                "--kill-child",
                "--propagation",
                "private",
                "--mount-proc",
                "--",
                sys.executable,
                "-m",
                "sandbox.init",
                f"--sandbox={layout.name}",
                f"--checkout={checkout}",
                f"--image={image}",
                *options,
            ],
            cwd=Path(__file__).resolve().parents[1],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    if not _wait(lambda: _healthy(layout) or outer.poll() is not None, START_WITHIN) or outer.poll() is not None:
        _stop(layout)
        raise LifecycleError(f"the sandbox did not start; the end of {log}:\n{_tail(log)}")


def _stop(layout: Layout) -> bool:
    """End the sandbox's init, in order if it can, and remove what outlives it: sockets, cgroups, a loop or two."""
    running = process(layout)
    if running is not None:
        os.kill(running.pid, signal.SIGTERM)
        if not _wait(lambda: not running.alive(), STOP_WITHIN):
            os.kill(running.pid, signal.SIGKILL)
            if not _wait(lambda: not running.alive(), 10):
                raise LifecycleError(f"process {running.pid} of the sandbox does not die (see `ps {running.pid}`)")
    groups = Cgroups(layout.name)
    _wait(groups.remove, 5)
    disks.detach_stale(layout.root)
    shutil.rmtree(layout.run, ignore_errors=True)
    return running is not None


def _wait(condition: Callable[[], object], within: float) -> bool:
    """Ask until the condition holds or `within` seconds have passed; return whether it holds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _started(pid: int) -> int:
    """Return when a process started, in clock ticks since boot (field 22 of stat); 0 if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
