"""The command that boots a node, and the one that enters it. Values only: nothing here runs anything.

What each piece is for is measured in the comments; leaving one out costs days.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ENTER = Path(__file__).with_name("enter.py")
REBOOT = 133  # nspawn's exit status when the node asked for a reboot; 0 is a power-off


@dataclass(frozen=True)
class Boot:
    """One boot of one node."""

    node: str
    machine: str
    hostname: str
    disk: str
    root: Path
    devices: Sequence[str] = ()
    read_only_binds: Sequence[tuple[Path, str]] = ()
    cgroups: Sequence[Path] = field(default=())


def boot_argv(boot: Boot) -> list[str]:
    """Given a boot, return the command that becomes the node's supervisor process."""
    return [
        # Not nspawn's --network-namespace-path: with it the node's /sys/class/net is the machine's.
        "nsenter",
        f"--net=/run/netns/{boot.node}",
        "--",
        # The OS disk is mounted where nobody else sees it: it goes with the node, and no other node holds it.
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--",
        sys.executable,
        "-S",
        "-E",
        str(ENTER),
        "--disk",
        boot.disk,
        str(boot.root),
        *map(str, boot.cgroups),
        "--",
        "systemd-nspawn",
        "--quiet",
        "--boot",
        f"--directory={boot.root}",
        f"--machine={boot.machine}",
        f"--hostname={boot.hostname}",
        "--register=no",
        "--keep-unit",
        # NET_ADMIN for nft counters. Never --capability=all nor a writable /sys: udev would name the machine's disks.
        "--capability=CAP_NET_ADMIN",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--console=pipe",
        "--bind=/dev/fuse",
        *(f"--bind={device}" for device in boot.devices),
        *(f"--bind-ro={_escaped(source)}:{target}" for source, target in boot.read_only_binds),
    ]


def exec_argv(leader: int, cgroups: Sequence[Path], argv: Sequence[str]) -> list[str]:
    """Given the PID of a node's systemd (as the controller sees it), return the command that runs `argv` inside."""
    return [
        sys.executable,
        "-S",
        "-E",
        str(ENTER),
        *map(str, cgroups),
        "--",
        "nsenter",
        f"--target={leader}",
        "--mount",
        "--uts",
        "--ipc",
        "--net",
        "--pid",
        "--cgroup",
        "--root",
        "--",
        *argv,
    ]


def _escaped(path: Path) -> str:
    """nspawn reads `:` in a bind as a separator; a checkout's path may hold one."""
    return str(path).replace("\\", "\\\\").replace(":", "\\:")
