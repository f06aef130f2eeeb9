"""The feed plan: what must be fed, what limits it, how the data set is served - today and at ten times the size.

All rates are bytes/s per node unless said otherwise. Nothing here is measured: these are planning numbers with their
sources, and `fab validate` has the last word.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from feedline.catalog import prices
from feedline.catalog.general_purpose import INGEST_SIZES
from feedline.catalog.nd_series import OS_DISK_NVME, Size
from feedline.catalog.storage import FUSE_READ_BYTES_PER_S, REQUEST_BYTES, Limits
from feedline.contract import Workload
from feedline.units import GB, human_bytes, human_rate, human_seconds

NVME_FILL = 0.80
"""How much of the local NVMe a preloaded data set may take: checkpoints and the file system need the rest."""

NOT_CRITICAL = 0.01
"""Below this share of a node's network the workload is not bandwidth-critical: checkpoints and metadata decide."""


@dataclass(frozen=True)
class Cache:
    """Where a node keeps data: bytes of it, and how fast it reads. `name` is shown to people."""

    name: str
    total_bytes: int
    read_bytes_per_s: float


def cache(size: Size, *, ephemeral_os: bool = False, disk_gib: int = 0) -> Cache:
    """Given a size and what was chosen, return the cache: local NVMe (less what an ephemeral OS disk takes), or the
    declared managed disk."""
    if disk_gib:
        return Cache("managed cache disk", disk_gib * 2**30, size.disk_bytes_per_s)
    disks = size.nvme_count - (OS_DISK_NVME if ephemeral_os else 0)
    return Cache("local NVMe", disks * size.nvme_bytes, disks * size.nvme_read_bytes_per_s)


@dataclass(frozen=True)
class Supply:
    """What stands behind the nodes: how many of them, the limits of one account, and how many accounts hold the
    data."""

    nodes: int
    limits: Limits
    accounts: int = 1
    redundancy: str = "LRS"


@dataclass(frozen=True)
class FeedPlan:
    """What the plan says for one size of data set. `bottleneck` names the smallest part of the path that serves
    training; `accounts` is how many accounts would have to hold it to stream it in time; `remedies` what helps, in
    the order in which to try it; `usd_per_month` what keeping the data costs (planning prices)."""

    required_bytes_per_s: float
    required_requests_per_s: float
    mode: str
    fits_nvme: bool
    dataset_bytes: int
    nvme_bytes: int
    bottleneck: str
    supply_bytes_per_s: float
    staging_s: float
    accounts: int
    usd_per_month: float
    starved: bool
    remedies: tuple[str, ...]
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return asdict(self) | {"remedies": list(self.remedies)}


def plan(workload: Workload, size: Size, supply: Supply, mode: str, where: Cache, *, scale: int = 1) -> FeedPlan:
    """Given workload, node size, what stands behind, mode (`preload`, `file_cache`) and the cache, return the plan.

    `scale` multiplies the data set (10 = "at ten times"). A preloaded or cached data set is read from the cache while
    training; it has to come from the lake once (staging), where nodes share the accounts' egress and requests. One
    that does not fit streams in every epoch.
    """
    dataset, nodes = workload.dataset_bytes * scale, max(supply.nodes, 1)
    fits = dataset <= where.total_bytes * NVME_FILL
    lake = _lake(size, supply, nodes)
    path = {where.name: where.read_bytes_per_s} if fits else lake
    bottleneck = min(path, key=lambda name: path[name])
    supplied, needed = path[bottleneck], workload.required_bytes_per_s
    staging = dataset / min(lake.values())
    starved = supplied < needed
    accounts = 1 if fits else _accounts(needed * nodes, supply.limits)
    dollars = dataset / GB * prices.LAKE_USD_PER_GB_MONTH * prices.COPIES[supply.redundancy] * max(supply.accounts, 1)
    how = mode if fits else f"stream (does not fit the {where.name})"
    text = (
        f"{human_rate(needed)} and {needed / REQUEST_BYTES:,.0f} requests/s per node required, {human_rate(supplied)} "
        f"planned ({bottleneck}); {human_bytes(dataset)} served by {how} from {supply.accounts} account(s), "
        f"staged in {human_seconds(staging)} with {supply.nodes} nodes; about ${dollars:,.0f} a month to keep"
    )
    if needed < size.nic_bytes_per_s * NOT_CRITICAL:
        text += (
            f"; not bandwidth-critical: {human_rate(needed)} is below {NOT_CRITICAL:.0%} of the node's network "
            f"({human_rate(size.nic_bytes_per_s)}), so checkpoints and metadata decide"
        )
    if starved:
        text += "; STARVED BY CONSTRUCTION"
    return FeedPlan(
        needed,
        needed / REQUEST_BYTES,
        how,
        fits,
        dataset,
        where.total_bytes,
        bottleneck,
        supplied,
        staging,
        accounts,
        round(dollars, 2),
        starved,
        _remedies(fits, bottleneck, needed * nodes, accounts, where) if starved else (),
        text,
    )


def _lake(size: Size, supply: Supply, nodes: int) -> dict[str, float]:
    share = supply.accounts / nodes
    return {
        "network of the node": size.nic_bytes_per_s,
        "account egress / nodes": supply.limits.egress_bits_per_s / 8 * share,
        "account requests / nodes": supply.limits.requests_per_s * REQUEST_BYTES * share,
        "BlobFuse2": FUSE_READ_BYTES_PER_S,
    }


def _accounts(total_bytes_per_s: float, limits: Limits) -> int:
    """How many accounts, each with a full copy, stream this much: the tighter of egress and requests decides."""
    by_egress = total_bytes_per_s * 8 / limits.egress_bits_per_s
    by_requests = total_bytes_per_s / REQUEST_BYTES / limits.requests_per_s
    return max(1, math.ceil(max(by_egress, by_requests)))


def _remedies(fits: bool, bottleneck: str, total: float, accounts: int, where: Cache) -> tuple[str, ...]:
    """What helps, in the order in which to try it: what costs nothing first."""
    if fits:
        return (
            f"a size with a faster cache than {human_rate(where.read_bytes_per_s)}",
            "fewer GPUs per node",
            "the hot tier",
        )
    if not bottleneck.startswith("account"):
        return ("preload a smaller data set (shards per node)", "the hot tier")
    return (
        f"ask Microsoft for {total * 8 / 1e9:,.0f} Gbit/s of egress (then set lake.egress_gbps)",
        "preload each shard once and pass it from node to node",
        f"{accounts} full copies in accounts of their own (lake.replicas)",
        "the hot tier",
    )


def ingest_size(dataset_bytes: int, hours: float) -> str:
    """Given a data set and the hours it may take, return the smallest ingest VM whose network carries it in time.

    The largest one when none does: the preview says how long it takes then.
    """
    needed = dataset_bytes * 8 / (hours * 3600)
    return next((name for name, bits in INGEST_SIZES.items() if bits >= needed), list(INGEST_SIZES)[-1])


def ingest_seconds(dataset_bytes: int, size: str, limits: Limits) -> float:
    """Given a data set, an ingest VM of the catalogue and the account's limits, return the seconds ingestion takes at
    least."""
    network = INGEST_SIZES.get(size, INGEST_SIZES["Standard_D4s_v5"])  # of a size we do not know, the least
    return dataset_bytes * 8 / min(network, limits.ingress_bits_per_s)
