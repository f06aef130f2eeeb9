"""What this machine lacks for a sandbox, all at once, each with how to get it."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
# tool → Debian/Ubuntu package
TOOLS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "losetup": "mount",
    "mke2fs": "e2fsprogs",
    "ip": "iproute2",
    "tc": "iproute2",
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "nginx": "nginx-light",
    "dnsmasq": "dnsmasq-base",
    "dpkg-deb": "dpkg",
    "node": "nodejs",
}


@dataclass(frozen=True)
class Tools:
    """Programs that no package of the distribution has; the toolchain says where they are."""

    azcopy: Path | None
    azurite: Path | None
    blobfuse2: Path | None = None

    @classmethod
    def of_environment(cls) -> "Tools":
        """Return the paths that FEEDLINE_AZCOPY, FEEDLINE_AZURITE and FEEDLINE_BLOBFUSE2 name."""
        named = {name: os.environ.get(f"FEEDLINE_{name.upper()}") for name in ("azcopy", "azurite", "blobfuse2")}
        return cls(**{name: Path(value).absolute() if value else None for name, value in named.items()})


def search_path() -> str:
    """Return a PATH on which system tools are found even where root's shell has no sbin folders on it."""
    return os.environ.get("PATH", os.defpath) + ":" + SBIN


def problems(tools: Tools) -> list[str]:
    """Given the named tools, return what keeps a sandbox from running here; an empty list means nothing does."""
    if platform.system() != "Linux":
        return [f"a sandbox needs Linux namespaces and this is {platform.system()}: use a Debian or Ubuntu VM"]
    found = []
    if os.geteuid() != 0:
        found.append("a sandbox needs root (namespaces, loop devices, mounts): run it with sudo")
    if not Path("/dev/fuse").exists():
        found.append(
            "/dev/fuse is missing, and with it every mount: `modprobe fuse`, or give the container --device /dev/fuse"
        )
    if not Path("/dev/loop-control").exists():
        found.append(
            "/dev/loop-control is missing, and with it the nodes' disks: `modprobe loop`, or use a privileged container"
        )
    missing = {tool: package for tool, package in TOOLS.items() if shutil.which(tool, path=search_path()) is None}
    if missing:
        found.append(
            f"missing: {', '.join(missing)}: `apt-get install {' '.join(sorted(set(missing.values())))}` "
            "(or ./run setup, which does it)"
        )
    for name, path in (("azcopy", tools.azcopy), ("azurite", tools.azurite)):
        if path is None or not path.exists():
            found.append(
                f"{name}: FEEDLINE_{name.upper()} names {path or 'nothing'}: run ./run setup, or name the program"
            )
    if tools.blobfuse2 is not None and not tools.blobfuse2.exists():
        found.append(
            f"blobfuse2: FEEDLINE_BLOBFUSE2 names {tools.blobfuse2}, which does not exist: unset it to use the stand-in"
        )
    return found
