"""The fabric: one bridge in the sandbox's network namespace, one namespace and one veth per node.

The namespace has no interface to the machine, so there is no route out. Addresses come from the cloud's resources.
"""

import ipaddress
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.nodes.tools import run

BRIDGE = "fabric0"
# IMDS, Azure's DNS address, the public side of storage, the packages repository.
FIXED = ("169.254.169.254/32", "168.63.129.16/32", "203.0.113.10/32", "203.0.113.20/32")


@dataclass(frozen=True)
class Nic:
    """A node's place on the fabric; `rate` limits what it receives, in bytes per second."""

    address: str
    prefix_length: int
    gateway: str
    rate: int

    @property
    def port(self) -> str:
        """The fabric's end of the cable, named by the address: 15 characters would not hold a node's name."""
        return "v" + ipaddress.IPv4Address(self.address).packed.hex()

    @property
    def mac(self) -> str:
        """A stable hardware address under a prefix that Azure's NICs have."""
        last = ipaddress.IPv4Address(self.address).packed[1:]
        return "00:0d:3a:" + ":".join(f"{byte:02x}" for byte in last)


def build_fabric() -> None:
    """Make the bridge with the addresses every VNet sees. Must run inside the sandbox's own network namespace."""
    commands = ["link set lo up", f"link add {BRIDGE} type bridge stp_state 0 forward_delay 0", f"link set {BRIDGE} up"]
    run(["ip", "-batch", "-"], stdin="\n".join(commands + [f"addr add {a} dev {BRIDGE}" for a in FIXED]))
    settings = {
        "ip_forward": "1",
        "conf/all/send_redirects": "0",
        f"conf/{BRIDGE}/send_redirects": "0",
        # There is no route out, and every program that tries is to hear it at once instead of waiting for a timeout.
        "icmp_ratelimit": "0",
    }
    for name, value in settings.items():
        (Path("/proc/sys/net/ipv4") / name).write_text(value)


class Addresses:
    """The fabric's changing addresses: gateways of subnets and private endpoints."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[str] = set()

    def sync(self, wanted: Iterable[str]) -> None:
        """Given every address the cloud has now (`a.b.c.d/len`), add the new ones and drop the gone ones."""
        with self._lock:
            target = set(wanted)
            commands = [f"addr del {a} dev {BRIDGE}" for a in self._held - target]
            commands += [f"addr replace {a} dev {BRIDGE}" for a in target - self._held]
            if commands:
                run(["ip", "-batch", "-"], stdin="\n".join(commands))
            self._held = target


def plug(node: str, nic: Nic) -> None:
    """Give a node its network namespace with a rate-limited eth0; what an earlier boot left is replaced."""
    unplug(node, nic)
    run(["ip", "netns", "add", node])
    run(
        ["ip", "-batch", "-"],
        stdin="\n".join(
            [
                f"link add {nic.port} type veth peer name eth0 address {nic.mac} netns {node}",
                f"link set {nic.port} master {BRIDGE} up",
            ]
        ),
    )
    run(
        ["ip", "-netns", node, "-batch", "-"],
        stdin="\n".join(
            [
                "link set lo up",
                f"addr add {nic.address}/{nic.prefix_length} dev eth0",
                "link set eth0 up",
                f"route add default via {nic.gateway}",
            ]
        ),
    )
    run(
        [
            "tc",
            "qdisc",
            "add",
            "dev",
            nic.port,
            "root",
            "tbf",
            "rate",
            f"{nic.rate * 8}bit",
            "burst",
            "256kb",
            "latency",
            "100ms",
        ]
    )


def unplug(node: str, nic: Nic) -> None:
    """Take a node off the fabric; nothing to do is fine."""
    # Not /sys/class/net: the sandbox keeps the machine's /sys, which lists the machine's interfaces.
    if f" {nic.port}:" in Path("/proc/self/net/dev").read_text().replace("\n", "\n "):
        run(["ip", "link", "del", nic.port])
    if Path("/run/netns", node).exists():
        run(["ip", "netns", "del", node])
