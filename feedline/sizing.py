"""The feed plan: what must be fed, what limits it, how the data set is served - today and at ten times the size.

All rates are bytes/s per node unless said otherwise. Nothing here is measured: these are planning numbers with their
sources, and `fab validate` has the last word.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from feedline.catalog.nd_series import Size
from feedline.catalog.storage import EGRESS_BITS_PER_S, FUSE_READ_BYTES_PER_S
from feedline.contract import Workload
from feedline.units import human_bytes, human_rate, human_seconds

NVME_FILL = 0.80
"""How much of the local NVMe a preloaded data set may take: checkpoints and the file system need the rest."""

NOT_CRITICAL = 0.01
"""Below this share of a node's network the workload is not bandwidth-critical: checkpoints and metadata decide."""


@dataclass(frozen=True)
class FeedPlan:
    """What the plan says for one size of data set. `bottleneck` names the smallest part of the path that serves
    training."""

    required_bytes_per_s: float
    mode: str
    fits_nvme: bool
    bottleneck: str
    supply_bytes_per_s: float
    staging_s: float
    starved: bool
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return asdict(self)


def plan(workload: Workload, size: Size, nodes: int, mode: str, *, scale: int = 1) -> FeedPlan:
    """Given workload, node size, number of nodes and mode (`preload`, `file_cache`), return the feed plan.

    `scale` multiplies the data set (10 = "at ten times"). A preloaded or cached data set is read from NVMe while
    training; it has to come from the lake once (staging), where nodes share the account's egress. One that does not
    fit streams in every epoch.
    """
    dataset = workload.dataset_bytes * scale
    fits = dataset <= size.nvme_total_bytes * NVME_FILL
    share = EGRESS_BITS_PER_S / 8 / max(nodes, 1)
    lake = {
        "network of the node": size.nic_bytes_per_s,
        "account egress / nodes": share,
        "BlobFuse2": FUSE_READ_BYTES_PER_S,
    }
    local = {"local NVMe": size.nvme_count * size.nvme_read_bytes_per_s}
    path = local if fits else lake
    bottleneck = min(path, key=lambda name: path[name])
    supply, needed = path[bottleneck], workload.required_bytes_per_s
    staging = dataset / min(lake.values())
    starved = supply < needed
    how = mode if fits else "stream (does not fit the NVMe)"
    text = (
        f"{human_rate(needed)} per node required, {human_rate(supply)} planned ({bottleneck}); "
        f"{human_bytes(dataset)} served by {how}, "
        f"staged in {human_seconds(staging)} with {nodes} nodes"
    )
    if needed < size.nic_bytes_per_s * NOT_CRITICAL:
        text += "; not bandwidth-critical: checkpoints and metadata decide"
    if starved:
        text += "; STARVED BY CONSTRUCTION"
    return FeedPlan(needed, how, fits, bottleneck, supply, staging, starved, text)


def remedies(found: FeedPlan) -> str:
    """Given a plan that starves, return what helps, in the order in which to try it."""
    if found.fits_nvme:
        return "a size with more local NVMe, fewer GPUs per node, or the hot tier"
    return "raise the account's egress by request, preload a smaller data set (shards per node), or add the hot tier"
