"""Virtual machines of the cloud as running nodes: the `compute` that the ARM face calls.

create boots · restart restarts · power_off stops · deallocate stops and throws the NVMe away · delete removes all.
"""

import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sandbox.arm.compute import ComputeError
from sandbox.cloud.machines import as_node, boots, machines, node_name
from sandbox.layout import Layout
from sandbox.nodes import disks, placement, seed
from sandbox.nodes.cgroup import Cgroups
from sandbox.nodes.machine import Node
from sandbox.nodes.profile import profile_of
from sandbox.nodes.tools import ToolError

LOG = logging.getLogger("sandbox.nodes")
GPU_TOOL = Path(__file__).resolve().parents[1] / "standins" / "nvidia_smi" / "nvidia-smi"
Vm = dict[str, Any]


class Resources(Protocol):
    """The part of the cloud that the nodes read."""

    def get(self, rid: str) -> dict[str, Any] | None: ...
    def list(self, type: str | None = None) -> list[dict[str, Any]]: ...


class Supervisor:
    """Every node of one sandbox. What goes wrong is raised as ComputeError, in ARM's words."""

    def __init__(
        self,
        layout: Layout,
        cloud: Resources,
        image: Path,
        *,
        ca_pem: Path | None = None,
        gpu_tool: Path = GPU_TOOL,
    ) -> None:
        self._layout, self._cloud, self._image = layout, cloud, image
        self._ca_pem, self._gpu_tool = ca_pem, gpu_tool
        self.cgroups = Cgroups(layout.name)
        self.nodes: dict[str, Node] = {}
        self._lock = threading.Lock()
        self._busy: dict[str, threading.RLock] = {}

    # -- the compute protocol

    def create(self, vm: Vm) -> None:
        """Given a new VM, make its disks, boot it, and return when its sshd answers. A known one is left as it is."""
        with self._operation(vm) as name:
            known = self._known_id(name)
            if known not in (None, vm["id"].lower()):
                raise ComputeError(
                    "Conflict", f"a node named {name} exists already in this sandbox ({known}): use another name"
                )
            if name in self.nodes and self.nodes[name].power in ("running", "stopped", "deallocated"):
                return  # an update of a VM neither boots nor stops it
            node = self.nodes[name] = self._node(vm, name)
            try:
                if not node.os_disk.exists():
                    self._make_disks(node, vm)
                self._boot(node, vm)
            except Exception:
                node.stop(0)
                node.power = "failed"  # the next create tries again
                raise

    def delete(self, vm: Vm) -> None:
        """Given a VM, stop it and remove its disks; one that is not there is fine."""
        with self._operation(vm) as name:
            if node := self.nodes.pop(name, None):
                node.stop(3)
            seed.forget(self._layout.node(name))

    def restart(self, vm: Vm) -> None:
        """Given a VM, shut it down in order and boot it again with the same disks."""
        with self._operation(vm) as name:
            node = self._existing(name)
            node.stop()
            self._boot(node, vm)

    def start(self, vm: Vm) -> None:
        """Given a VM, boot it if it does not run."""
        with self._operation(vm) as name:
            node = self._existing(name)
            if node.power != "running":
                self._boot(node, vm)

    def power_off(self, vm: Vm) -> None:
        """Given a VM, shut it down; its disks stay, the NVMe too (the VM stays allocated)."""
        with self._operation(vm) as name:
            self._existing(name).stop()

    def deallocate(self, vm: Vm) -> None:
        """Given a VM, shut it down and give its host back: the next start has a new, empty NVMe."""
        with self._operation(vm) as name:
            node = self._existing(name)
            node.stop()
            node.nvme_disk.unlink(missing_ok=True)
            node.power = "deallocated"
            self._remember(node)

    def state(self, vm: Vm) -> str:
        """Given a VM, return running, stopped, deallocated, failed or unknown."""
        node = self.nodes.get(vm["name"])
        return node.power if node else "unknown"

    # -- the sandbox's own

    def restore(self) -> None:
        """Boot every VM that ran when this sandbox last ended; forget the disks of VMs that are gone."""
        vms = {node_name(vm): as_node(vm) for vm in machines(self._cloud) if boots(vm)}
        for folder in self._layout.nodes.glob("*"):
            if folder.name not in vms:
                seed.forget(folder)
        off = {
            name: power for name in vms if (power := self._remembered(name).get("power")) in ("stopped", "deallocated")
        }
        for name, power in off.items():
            self.nodes[name] = self._node(vms[name], name)
            self.nodes[name].power = power
        with ThreadPoolExecutor(max_workers=4) as pool:
            for name in pool.map(self._try_create, [vm for name, vm in vms.items() if name not in off]):
                LOG.info("node %s restored", name)

    def shutdown(self, within: float = 10) -> None:
        """Power every node off, all at once, cutting off after `within` seconds; what ran is remembered as running."""
        running = [node for node in self.nodes.values() if node.power == "running"]
        for node in running:
            node.on_change = lambda node: None
        if running:
            with ThreadPoolExecutor(max_workers=len(running)) as pool:
                list(pool.map(lambda node: node.stop(within), running))

    def node(self, name: str) -> Node:
        """Given a node's name, return its machine. Raise KeyError with the names that exist."""
        if name not in self.nodes:
            raise KeyError(f"no node {name}; there are: {', '.join(sorted(self.nodes)) or 'none'}")
        return self.nodes[name]

    def status(self) -> list[dict[str, Any]]:
        """Return what each node is and has, for `sandbox status`."""
        return [
            {
                "name": node.name,
                "power": node.power,
                "address": node.nic.address,
                "boots": node.boots,
                "gpus": node.profile.gpus,
                "nic_bytes_per_second": node.profile.nic,
                "os_read_bytes_per_second": node.profile.os_read,
                "nvme_bytes": node.profile.nvme_bytes,
                "loops": [loop.device for loop in node.loops],
                "direct_io": all(loop.direct for loop in node.loops) if node.loops else None,
                "leader": _leader(node),
                "cgroups": [str(path) for path in node.joins],
            }
            for node in sorted(self.nodes.values(), key=lambda node: node.name)
        ]

    # -- inside

    @contextmanager
    def _operation(self, vm: Vm) -> Iterator[str]:
        """One operation per VM at a time; whatever goes wrong is told in ARM's words."""
        name = vm["name"]
        with self._lock:
            busy = self._busy.setdefault(name, threading.RLock())
        with busy:
            try:
                yield name
            except (ToolError, TimeoutError, OSError) as failed:
                LOG.error("node %s: %s", name, failed)
                raise ComputeError("OSProvisioningClientError", f"node {name}: {failed}") from failed
            except (ValueError, LookupError) as bad:
                raise ComputeError("InvalidParameter", f"node {name}: {bad}") from bad

    def _node(self, vm: Vm, name: str) -> Node:
        profile = profile_of(vm["properties"]["hardwareProfile"]["vmSize"])
        binds = [(self._gpu_tool, "/usr/bin/nvidia-smi")] if profile.gpus and self._gpu_tool.exists() else []
        return Node(
            name=name,
            folder=self._layout.node(name),
            log=self._layout.logs / f"node-{name}.log",
            nspawn_name=f"{self._layout.name}-{name}",
            hostname=seed.machine_of(vm).hostname,
            nic=placement.nic_of(self._cloud, vm, profile.nic),
            profile=profile,
            cgroups=self.cgroups,
            binds=binds,
            on_change=self._remember,
        )

    def _make_disks(self, node: Node, vm: Vm) -> None:
        """Copy the image for a new VM and write what makes it this VM; nothing half-made keeps the disk's name."""
        machine = seed.machine_of(vm)
        draft = node.folder / "draft.ext4"
        disks.copy_image(self._image, draft)
        loop = disks.attach(draft)
        try:
            seed.seed_disk(loop.device, node.root, machine, ca_pem=self._ca_pem, gpus=node.profile.gpus)
        finally:
            loop.close()
        draft.rename(node.os_disk)
        (node.folder / "state.json").write_text(json.dumps({"id": vm["id"].lower(), "power": "stopped"}))

    def _boot(self, node: Node, vm: Vm) -> None:
        """Boot with the size and the address that the VM has now: both may change while it is stopped."""
        node.profile = profile_of(vm["properties"]["hardwareProfile"]["vmSize"])
        node.nic = placement.nic_of(self._cloud, vm, node.profile.nic)
        node.start()
        node.wait_for_ssh()
        for loop in node.loops:
            if not loop.direct:
                LOG.warning("%s of %s has no direct I/O: its speed is the page cache's", loop.device, node.name)

    def _try_create(self, vm: Vm) -> str:
        try:
            self.create(vm)
        except ComputeError as failed:  # one node must not keep the others down; it shows as failed
            LOG.error("node %s did not come back: %s", vm["name"], failed)
            if vm["name"] in self.nodes:
                self.nodes[vm["name"]].power = "failed"
        return str(vm["name"])

    def _existing(self, name: str) -> Node:
        if name not in self.nodes:
            raise ComputeError("NotFound", f"there is no node {name}")
        return self.nodes[name]

    def _remember(self, node: Node) -> None:
        file = node.folder / "state.json"
        state = self._remembered(node.name) | {"power": node.power}
        part = file.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.rename(file)

    def _remembered(self, name: str) -> dict[str, Any]:
        file = self._layout.node(name) / "state.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def _known_id(self, name: str) -> str | None:
        return self._remembered(name).get("id")


def _leader(node: Node) -> int | None:
    try:
        return node.leader()
    except RuntimeError:
        return None
