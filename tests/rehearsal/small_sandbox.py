"""A sandbox of a test's own: an empty checkout, a resource group, a network, and VMs made through the ARM face."""

import base64
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import client, lifecycle
from sandbox.layout import Layout

REPOSITORY = Path(__file__).resolve().parents[2]
GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-test"
NETWORK = f"{GROUP}/providers/Microsoft.Network"
COMPUTE = f"{GROUP}/providers/Microsoft.Compute"
GPU_SIZE, JUMP_SIZE = "Standard_ND96isr_H100_v5", "Standard_D8s_v5"
CUSTOM_DATA = "#cloud-config\nwrite_files:\n- {path: /etc/marker, content: from customData}\n"
BUSY = ("Creating", "Updating", "Accepted", "Deleting")


@dataclass
class SmallSandbox:
    """One sandbox and the commands a person would type at it."""

    checkout: Path
    key: Path

    @property
    def layout(self) -> Layout:
        return Layout.of(self.checkout)

    def sandbox(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `python -m sandbox` for this checkout."""
        argv = [sys.executable, "-m", "sandbox", f"--checkout={self.checkout}", *arguments]
        done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, timeout=240, check=False)
        assert not check or done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done

    def arm(self, method: str, rid: str, body: Any = None, version: str = "2024-07-01") -> Any:
        """Do one ARM request and wait until the resource has settled; return it."""
        code, answer = client.call(self.layout.arm_socket, method, f"{rid}?api-version={version}", body, timeout=120)
        assert code < 300, f"{method} {rid}: {code} {answer}"
        resource = rid if method != "POST" else rid.rsplit("/", 1)[0]

        def settled() -> bool:
            nonlocal answer
            found, answer = client.call(self.layout.arm_socket, "GET", f"{resource}?api-version={version}")
            return found == 404 or answer.get("properties", {}).get("provisioningState") not in BUSY

        until(settled, 120, f"{method} {rid}")
        state = (answer or {}).get("properties", {}).get("provisioningState")
        assert method == "DELETE" or state in (None, "Succeeded"), f"{method} {rid}: {answer}"
        return answer

    def network(self) -> None:
        """Make a resource group and a VNet with two subnets."""
        self.arm("PUT", GROUP, {"location": "eastus"}, "2024-03-01")
        space = {"addressSpace": {"addressPrefixes": ["10.42.0.0/16"]}}
        self.arm("PUT", f"{NETWORK}/virtualNetworks/vnet", {"location": "eastus", "properties": space})
        for name, prefix in (("nodes", "10.42.1.0/24"), ("jump", "10.42.2.0/24")):
            self.arm("PUT", subnet(name), {"properties": {"addressPrefix": prefix}})

    def vm(self, name: str, size: str, where: str, address: str, custom_data: str = CUSTOM_DATA) -> None:
        """Make a NIC and a VM on it, and wait until Azure would call it running."""
        inner = {"privateIPAllocationMethod": "Static", "privateIPAddress": address, "subnet": {"id": subnet(where)}}
        nic = f"{NETWORK}/networkInterfaces/nic-{name}"
        configurations = [{"name": "primary", "properties": inner}]
        self.arm("PUT", nic, {"location": "eastus", "properties": {"ipConfigurations": configurations}})
        keys = [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": self.key.with_suffix(".pub").read_text()}]
        profile = {
            "computerName": name,
            "adminUsername": "azureuser",
            "customData": base64.b64encode(custom_data.encode()).decode(),
            "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": keys}},
        }
        image = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
        properties = {
            "hardwareProfile": {"vmSize": size},
            "osProfile": profile,
            "storageProfile": {"imageReference": image, "osDisk": {"createOption": "FromImage"}},
            "networkProfile": {"networkInterfaces": [{"id": nic}]},
        }
        self.arm("PUT", vm_id(name), {"location": "eastus", "properties": properties})

    def scale_set(self, name: str, capacity: int, custom_data: str = CUSTOM_DATA) -> None:
        """Make a Uniform scale set of GPU nodes, or change its capacity, and wait until Azure would call it done."""
        keys = [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": self.key.with_suffix(".pub").read_text()}]
        inner = {"name": "primary", "properties": {"subnet": {"id": subnet("nodes")}}}
        nic = {"name": "primary", "properties": {"primary": True, "ipConfigurations": [inner]}}
        model = {
            "osProfile": {
                "computerNamePrefix": name,
                "adminUsername": "azureuser",
                "customData": base64.b64encode(custom_data.encode()).decode(),
                "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": keys}},
            },
            "storageProfile": {"osDisk": {"createOption": "FromImage"}},
            "networkProfile": {"networkInterfaceConfigurations": [nic]},
        }
        mode = {"orchestrationMode": "Uniform", "singlePlacementGroup": True, "upgradePolicy": {"mode": "Manual"}}
        properties = {**mode, "virtualMachineProfile": model}
        body = {"location": "eastus", "sku": {"name": GPU_SIZE, "capacity": capacity}, "properties": properties}
        self.arm("PUT", f"{COMPUTE}/virtualMachineScaleSets/{name}", body)

    def ssh(self, node: str, command: str, check: bool = True, within: float = 60) -> str:
        """Run a command as the admin user through the way in; return its output."""
        relay = [sys.executable, "-S", "-E", str(REPOSITORY / "sandbox" / "ssh_proxy.py"), str(self.layout.dial_socket)]
        proxy = f"{shlex.join(relay)} %h %p"
        hosts = self.checkout / "known_hosts"
        options = ["StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={hosts}", f"ProxyCommand={proxy}"]
        # A node that is killed under an open connection never answers and never resets: such an attempt is given up.
        options += ["ConnectTimeout=10", "ServerAliveInterval=3", "ServerAliveCountMax=2"]
        flags = [word for option in options for word in ("-o", option)]
        argv = ["ssh", "-i", str(self.key), *flags, f"azureuser@{node}", command]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=within, check=False
        )
        assert not check or done.returncode == 0, f"ssh {node} {command!r}: {done.stdout}{done.stderr}"
        return done.stdout

    def status(self) -> dict[str, Any]:
        """Return what the controller says."""
        return lifecycle.status(self.layout)

    def node(self, name: str) -> dict[str, Any]:
        """Return one node's status."""
        return next(node for node in self.status()["nodes"] if node["name"] == name)

    def processes(self) -> dict[int, str]:
        """Return this sandbox's processes, PID → command line, as the machine sees them."""
        init = lifecycle.process(self.layout)
        return _tree(init.pid) if init else {}

    def pid_of(self, words: str) -> int:
        """Return the one process of this sandbox whose command line holds `words`."""
        found = [pid for pid, line in self.processes().items() if words in line]
        assert len(found) == 1, f"{words!r} matches {found} of {self.processes()}"
        return found[0]

    def leftovers(self) -> list[str]:
        """Return whatever of this sandbox is on the machine: processes, loops, mounts, cgroups, sockets."""
        loops = subprocess.run(
            ["losetup", "--list", "--output", "BACK-FILE"], capture_output=True, text=True, check=True
        )
        found = [line for line in loops.stdout.splitlines() if str(self.checkout) in line]
        found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(self.checkout) in line]
        found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{self.layout.name}*")]
        found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"{self.layout.name}*")]
        found += [str(self.layout.run)] if self.layout.run.exists() else []
        return found + list(self.processes().values())


def make(folder: Path) -> SmallSandbox:
    """Given an empty folder, return a sandbox there with an SSH key; it does not run yet."""
    checkout = folder / "a checkout"  # people's folders have spaces
    checkout.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    os.environ.setdefault("FEEDLINE_CACHE", str(Layout.of(REPOSITORY).cache))
    return SmallSandbox(checkout, folder / "key")


def vm_id(name: str) -> str:
    """Return the resource id of a VM."""
    return f"{COMPUTE}/virtualMachines/{name}"


def subnet(name: str) -> str:
    """Return the resource id of a subnet."""
    return f"{NETWORK}/virtualNetworks/vnet/subnets/{name}"


def until(condition: Callable[[], object], within: float, what: str) -> None:
    """Wait until the condition holds. Fail naming `what` after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {within:g} s"
        time.sleep(0.1)


def _tree(pid: int) -> dict[int, str]:
    """Return a process and everything below it."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
        children = [
            int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()
        ]
    except OSError:  # it ended meanwhile
        return {}
    found = {pid: line}
    for child in children:
        found |= _tree(child)
    return found
