"""BlobFuse2's configuration, for one mount. Only keys it knows: unknown ones it ignores without a word (seen in
2.5.6)."""

from __future__ import annotations

from feedline.contract import Account, Identity, Mount
from feedline.names import LOG_FOLDER
from feedline.units import MIB

CACHE_SHARE = 0.80
"""Share of the NVMe a file cache may fill: its limit is soft, a burst of opens goes past it."""

KEEP_S = 30 * 24 * 3600
"""file_cache.timeout-sec: longer than any epoch, else the second epoch downloads again."""

ATTRIBUTES_S = 7200
BLOCK_MB = 16
MAX_WORKERS = 64
"""Preload workers. The pool takes workers * 3 blocks of 16 MiB: 64 workers are 3 GiB, the default of 96 cores 13.5
GiB."""


def render(
    mount: Mount, account: Account, identity: Identity, *, disk_bytes: int, cores: int, log_name: str = ""
) -> str:
    """Given a mount, its account, its identity, the size of the cache disk in bytes and the node's cores, return the
    YAML.

    `log_name` names the log file, by default after the mount.
    """
    preload = mount.mode == "preload"
    cache = "xload" if preload else "file_cache"
    kind, endpoint = ("adls", account.dfs_endpoint) if account.protocol == "dfs" else ("block", account.blob_endpoint)
    lines = [
        "# Written by Feedline (fab cache). Changes are overwritten.",
        "allow-other: true",
        f"read-only: {'true' if mount.read_only else 'false'}",
        *(["preload: true"] if preload else []),
        "logging:",
        "  type: base",
        "  level: log_warning",
        f"  file-path: {LOG_FOLDER}/{log_name or mount.name}.log",
        "  max-file-size-mb: 64",
        "  file-count: 4",
        "components:",
        "  - libfuse",
        f"  - {cache}",
        "  - attr_cache",
        "  - azstorage",
        "libfuse:",
        f"  attribute-expiration-sec: {ATTRIBUTES_S if mount.read_only else 120}",
        f"  entry-expiration-sec: {ATTRIBUTES_S if mount.read_only else 120}",
        *(_xload(mount, cores) if preload else _file_cache(mount, disk_bytes)),
        "attr_cache:",
        f"  timeout-sec: {ATTRIBUTES_S if mount.read_only else 120}",
        "azstorage:",
        f"  type: {kind}",
        f"  account-name: {account.name}",
        f"  container: {mount.container}",
        f"  endpoint: {endpoint}",
        "  mode: msi",
        f"  appid: {identity.client_id}",
        f"  block-size-mb: {BLOCK_MB}",
        f"  max-concurrency: {min(32, max(4, cores))}",
    ]
    return "\n".join(lines) + "\n"


def _xload(mount: Mount, cores: int) -> list[str]:
    workers = min(MAX_WORKERS, max(2, cores))
    return [
        "xload:",
        f"  path: {mount.cache}",
        f"  block-size-mb: {BLOCK_MB}",
        f"  workers: {workers}",
        f"  pool-size: {workers * 3}",
        "  cleanup-on-start: true",
    ]


def _file_cache(mount: Mount, disk_bytes: int) -> list[str]:
    # A data set is kept; what is written (checkpoints) may go once it is uploaded.
    keep = KEEP_S if mount.read_only else 120
    return [
        "file_cache:",
        f"  path: {mount.cache}",
        f"  timeout-sec: {keep}",
        f"  max-size-mb: {int(disk_bytes * CACHE_SHARE / MIB)}",
        "  cleanup-on-start: true",
    ]
