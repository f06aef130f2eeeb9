"""Where one sandbox keeps its things. Every path is derived from the checkout, so two checkouts never share one."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The paths of one sandbox: `root` survives a stop, `run` holds the sockets of a running one, `cache` is shared."""

    root: Path
    run: Path
    cache: Path

    @classmethod
    def of(cls, checkout: Path) -> "Layout":
        """Given a checkout, return its sandbox's paths; the same checkout by another name gives the same ones."""
        real = checkout.resolve()
        digest = hashlib.sha256(str(real).encode()).hexdigest()[:8]
        # The sockets live in /run because the path of a unix socket may have 107 characters at most.
        return cls(real / ".feedline" / "sandbox", Path(f"/run/feedline-{digest}"), _cache_folder())

    @property
    def name(self) -> str:
        """The one name this sandbox uses where names are the machine's: cgroups, /run, nspawn machines."""
        return self.run.name

    @property
    def arm_socket(self) -> Path:
        return self.run / "arm.sock"

    @property
    def authorizer_socket(self) -> Path:
        return self.run / "authorizer.sock"

    @property
    def dial_socket(self) -> Path:
        """Connects to a HOST PORT inside the sandbox (ssh's ProxyCommand uses it)."""
        return self.run / "dial.sock"

    @property
    def lock_file(self) -> Path:
        return self.root / "lock"

    @property
    def cloud_file(self) -> Path:
        return self.root / "cloud.json"

    @property
    def faults_file(self) -> Path:
        return self.root / "faults.json"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def ca_pem(self) -> Path:
        return self.root / "ca.pem"

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def packages(self) -> Path:
        """The apt repository that nginx serves to the nodes."""
        return self.root / "packages"

    @property
    def azurite(self) -> Path:
        return self.root / "azurite"

    @property
    def gateway(self) -> Path:
        """Rendered configuration and certificates of nginx and dnsmasq."""
        return self.root / "gateway"

    @property
    def nodes(self) -> Path:
        return self.root / "nodes"

    @property
    def images(self) -> Path:
        """Node images by content hash, shared by every checkout of this user."""
        return self.cache / "node-image"

    def node(self, name: str) -> Path:
        """Given a node's name, return the folder of its disks and state."""
        return self.nodes / name


def _cache_folder() -> Path:
    """Return the folder of downloads and images; the toolchain uses the same rule."""
    if own := os.environ.get("FEEDLINE_CACHE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "feedline"
