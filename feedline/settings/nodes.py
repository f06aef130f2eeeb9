"""`feedline:nodes`, `feedline:ingest` and `feedline:packages`: the machines and what is installed on them."""

from __future__ import annotations

from dataclasses import dataclass

from feedline import checks
from feedline.catalog.nd_series import SIZES
from feedline.schema import key

PLACEMENT = ("availability_set", "uniform")
LARGEST = {"availability_set": 200, "uniform": 300}
"""Azure's limits: an availability set takes 200 VMs, a single placement group 100 and 300 on request."""

UNIFORM_DEFAULT = 100


@dataclass(frozen=True)
class Nodes:
    """`feedline:nodes`"""

    count: int = key(
        "GPU nodes that share one InfiniBand fabric; 0 parks the cluster, the lake stays.",
        8,
        checks.between(0, 300, "0 = parked; an availability set takes 200, a uniform scale set 100, or 300 on request"),
    )
    size: str = key("ND-series size from the catalogue.", "Standard_ND96isr_H100_v5", checks.size)
    image: str = key(
        "Image as publisher:offer:sku:version (the version is pinned), or the resource id of a gallery image version"
        " (for networks without a way out).",
        "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026071601",
        checks.image,
    )
    placement: str = key(
        "`availability_set` (each VM declared with its name and address) or `uniform` (a scale set in one placement"
        " group; nodes are discovered after `up`). Flexible scale sets are refused: no InfiniBand is documented there.",
        "uniform",
        checks.placement(*PLACEMENT),
        "availability_set",
    )
    larger_placement_group: bool = key(
        "Microsoft raised the limit of your placement groups from 100 to 300.", True, None, False
    )
    os_disk: str = key(
        "`premium` (managed) or `ephemeral` (takes whole NVMe disks away from the cache and forbids deallocate).",
        "premium",
        checks.one_of("premium", "ephemeral"),
        "premium",
    )
    cache_disk_gib: int = key(
        "GiB of a managed Premium SSD disk, declared at LUN 0, that serves as the cache instead of local NVMe (for"
        " sizes without it; slower, and the feed plan counts it so); 0 = the local NVMe.",
        4096,
        checks.between(0, 65536, "GiB"),
        0,
    )
    boot: bool = key(
        "Start the machines. `false` declares them only; the simulated Azure alone knows that.", False, None, True
    )
    admin_user: str = key(
        "The one login name.", "azureuser", checks.matches(r"[a-z][a-z0-9_-]{0,30}", "a-z, 0-9"), "azureuser"
    )
    ssh_public_key: str = key("Public key of the operators; or use ssh_public_key_file.", "ssh-ed25519 AAAA…", None, "")
    ssh_public_key_file: str = key(
        "File with that key, relative to the project.", ".feedline/ssh/id_ed25519.pub", None, ""
    )
    unproven: bool = key("Allow a size this project has never handed off.", False, None, False)


@dataclass(frozen=True)
class Ingest:
    """`feedline:ingest`"""

    size: str = key(
        "VM size of the ingest and jump node; empty = the smallest whose network stages the data set in time.",
        "Standard_D16s_v5",
        checks.optional(checks.matches(r"Standard_[A-Za-z0-9_]+", "Standard_…")),
        "",
    )
    hours: float = key(
        "In how many hours the data set must be ingested.", 24.0, checks.between(0.1, 10_000, "hours"), 24.0
    )


@dataclass(frozen=True)
class Packages:
    """`feedline:packages`"""

    source: str = key(
        "apt source line of BlobFuse2 and AzCopy.",
        "deb [signed-by=/etc/apt/keyrings/feedline.asc] https://packages.microsoft.com/ubuntu/24.04/prod noble main",
        checks.matches(r"deb .+", "one `deb …` line"),
    )
    signing_key: str = key(
        "ASCII-armoured key that signs the source; written to /etc/apt/keyrings/feedline.asc.",
        "-----BEGIN PGP …",
        None,
        "",
    )
    held: bool = key("Hold kernel, driver, BlobFuse2 and AzCopy at what was installed.", True, None, True)


def problems(nodes: Nodes) -> list[str]:
    """Given the nodes, return what cannot work together."""
    found, size = [], SIZES[nodes.size]
    if bool(nodes.ssh_public_key) == bool(nodes.ssh_public_key_file):
        found.append("feedline:nodes: give exactly one of ssh_public_key and ssh_public_key_file")
    if not size.proven and not nodes.unproven:
        found.append(
            f"feedline:nodes.size: {nodes.size} was never handed off by this project "
            "(hint: set unproven: true to go first)"
        )
    most = LARGEST[nodes.placement]
    if nodes.placement == "uniform" and not nodes.larger_placement_group:
        most = UNIFORM_DEFAULT
    if nodes.count > most:
        hint = "larger_placement_group: true if Microsoft raised yours" if most == UNIFORM_DEFAULT else "two clusters"
        found.append(f"feedline:nodes.count: {nodes.count} is more than {nodes.placement} takes, {most} (hint: {hint})")
    if nodes.os_disk == "ephemeral" and size.nvme_count < 2:
        found.append(f"feedline:nodes.os_disk: {nodes.size} has no NVMe disk to give away (hint: premium)")
    return found
