"""One node's boots: disks attached, cable plugged, nspawn running, its end understood.

A node that ends by itself with a reboot request or by an accident is started again; one that powers off stays off.
"""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.nodes import disks, network, nspawn, seed
from sandbox.nodes.cgroup import Cgroups
from sandbox.nodes.network import Nic
from sandbox.nodes.profile import Profile

ACCIDENTS = 3  # unasked ends within WINDOW seconds after which a node is left failed
WINDOW = 60.0


@dataclass
class Node:
    """A VM's machine. `power` is running, stopped, failed or (set by the supervisor) deallocated."""

    name: str
    folder: Path
    log: Path
    nspawn_name: str
    hostname: str
    nic: Nic
    profile: Profile
    cgroups: Cgroups
    binds: Sequence[tuple[Path, str]] = ()
    on_change: Callable[["Node"], None] = lambda node: None
    power: str = "stopped"
    boots: int = 0
    loops: list[disks.Loop] = field(default_factory=list)
    joins: list[Path] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None
    _watcher: threading.Thread | None = None
    _stopping: bool = False
    _accidents: list[float] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """Where the OS disk is mounted, in the node's own mount namespace only."""
        return self.folder / "root"

    @property
    def os_disk(self) -> Path:
        return self.folder / "os.ext4"

    @property
    def nvme_disk(self) -> Path:
        return self.folder / "nvme-0.img"

    @property
    def _device_names(self) -> Path:
        return self.folder / "azure-local-disks.conf"

    def start(self) -> None:
        """Boot the node; return once its process runs. Raise ToolError if a disk, the cable or a cgroup fails."""
        self.cgroups.kill(self.name)
        try:
            self._attach()
            network.plug(self.name, self.nic)
            self.joins = self.cgroups.create(self.name)
            if self.profile.os_read is not None:
                self.cgroups.throttle_reads(self.name, self.loops[0].number, self.profile.os_read)
            self._stopping = False
            self._spawn()
        except BaseException:
            self._release()
            raise
        self._watcher = threading.Thread(target=self._watch, name=f"node-{self.name}", daemon=True)
        self._watcher.start()

    def stop(self, within: float = 20) -> None:
        """Ask the node to power off and wait; after `within` seconds cut it off."""
        self._stopping = True
        process, watcher = self._process, self._watcher
        if process is None or watcher is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)  # nspawn passes it on as an orderly shutdown
        watcher.join(within)
        if watcher.is_alive():
            self.cgroups.kill(self.name)
            watcher.join(10)

    def wait_for_ssh(self, within: float = 60) -> None:
        """Wait until the node's sshd greets. Raise TimeoutError with the end of its console if it does not."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection((self.nic.address, 22), timeout=2) as stream:
                stream.settimeout(2)
                if stream.recv(4) == b"SSH-":
                    return
            if self.power != "running":
                break
            time.sleep(0.1)
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-8:]) if self.log.exists() else ""
        raise TimeoutError(
            f"{self.name} did not answer ssh within {within:g} s ({self.power}); its console ends:\n{tail}"
        )

    def leader(self) -> int:
        """Return the PID of the node's systemd as this process sees it. Raise RuntimeError if it is not running."""
        if self._process is not None and self._process.poll() is None:
            try:
                children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            except OSError:  # it died since the line above
                children = []
            if children:
                return int(children[0])
        raise RuntimeError(f"{self.name} is not running")

    def execute(
        self, argv: Sequence[str], stdin: bytes = b"", within: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        """Given a command, run it inside the node as root; return its exit status and output."""
        command = nspawn.exec_argv(self.leader(), self.joins, argv)
        return subprocess.run(command, input=stdin, capture_output=True, timeout=within, check=False)

    def _attach(self) -> None:
        """Attach the disks and write down how this boot's devices are named."""
        self.loops = [disks.attach(self.os_disk)]
        if self.profile.nvme_bytes is not None:
            if not self.nvme_disk.exists():
                disks.new_disk(self.nvme_disk, self.profile.nvme_bytes)
            self.loops.append(disks.attach(self.nvme_disk))
        self.root.mkdir(exist_ok=True)
        self._device_names.write_text(seed.device_names([loop.device for loop in self.loops[1:]]))

    def _spawn(self) -> None:
        boot = nspawn.Boot(
            node=self.name,
            machine=self.nspawn_name,
            hostname=self.hostname,
            disk=self.loops[0].device,
            root=self.root,
            devices=[loop.device for loop in self.loops],
            cgroups=self.joins,
            read_only_binds=[*self.binds, (self._device_names, seed.DEVICE_NAMES)],
        )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                nspawn.boot_argv(boot),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath), "SYSTEMD_LOG_LEVEL": "warning"},
            )
        self.boots += 1
        self._set("running")

    def _watch(self) -> None:
        """Wait for each end of the node and decide what it meant."""
        while True:
            assert self._process is not None
            status = self._process.wait()
            self.cgroups.kill(self.name)  # a killed nspawn leaves its systemd running
            if self._stopping or status == 0 or (status != nspawn.REBOOT and self._too_many_accidents()):
                self._release()
                self._set("stopped" if self._stopping or status == 0 else "failed")
                return
            self._spawn()

    def _too_many_accidents(self) -> bool:
        now = time.monotonic()
        self._accidents = [t for t in self._accidents if now - t < WINDOW] + [now]
        return len(self._accidents) > ACCIDENTS

    def _release(self) -> None:
        """Give back everything that a running node holds."""
        self._process = None
        network.unplug(self.name, self.nic)
        loops, self.loops = self.loops, []
        for loop in loops:
            loop.close()
        self.cgroups.remove(self.name)

    def _set(self, power: str) -> None:
        self.power = power
        self.on_change(self)
