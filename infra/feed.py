"""The feed plan, told in preview: a stack that would starve its GPUs by construction says so before anything is
bought."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pulumi

from feedline.catalog import prices
from feedline.catalog.nd_series import SIZES
from feedline.catalog.storage import limits
from feedline.classification import of
from feedline.errors import SettingsError
from feedline.mounts import mounts
from feedline.settings import Settings
from feedline.sizing import Supply, cache, ingest_seconds, plan
from feedline.units import human_bytes, human_seconds


class FeedPlan(pulumi.ComponentResource):
    """The plan and the mounts as a resource, so that the policy pack can judge them: packs see no stack outputs."""

    def __init__(self, name: str, settings: Settings, plan: dict[str, Any]) -> None:
        now, feed = plan["now"], settings.feed
        facts: dict[str, Any] = {
            "starved": now["starved"],
            "accepted_because": plan["accepted_because"],
            "fits_nvme": now["fits_nvme"],
            "mode": feed.mode,
            "dataset_bytes": feed.dataset_bytes,
            "nvme_bytes": now["nvme_bytes"],
            "mounts": [asdict(mount) for mount in mounts(settings)],
        }
        super().__init__("feedline:feed:FeedPlan", name, facts)
        self.register_outputs(facts)


def feed_plan(settings: Settings) -> dict[str, Any]:
    """Given the settings, log the plan for today and for ten times the data, and return both as JSON values.

    Raise SettingsError when it starves today and nobody wrote down why that is accepted.
    """
    size, feed, nodes = SIZES[settings.nodes.size], settings.feed, settings.nodes
    where = cache(size, ephemeral_os=nodes.os_disk == "ephemeral", disk_gib=nodes.cache_disk_gib)
    account = limits(settings.location)
    if settings.lake.egress_gbps:
        account = replace(account, egress_bits_per_s=settings.lake.egress_gbps * 1e9)
    supply = Supply(nodes.count, account, len(settings.accounts), settings.lake.redundancy)
    now, tenfold = (plan(settings.workload, size, supply, feed.mode, where, scale=scale) for scale in (1, 10))
    pulumi.log.info(f"feed plan: {now.message}")
    pulumi.log.info(f"feed plan at 10x: {tenfold.message}")
    for remedy in tenfold.remedies:
        pulumi.log.info(f"feed plan at 10x would need: {remedy}")
    took = ingest_seconds(feed.dataset_bytes, settings.ingest_size, account)
    pulumi.log.info(
        f"ingest: {human_bytes(feed.dataset_bytes)} by {settings.ingest_size} in {human_seconds(took)} at least"
    )
    _warn(settings, now.required_requests_per_s * nodes.count)
    if now.starved and not feed.starving_is_accepted_because:
        problem = f"feedline:feed: this cluster cannot be fed: {now.message}"
        hint = (
            f"{'; or '.join(now.remedies)}; or set feed.starving_is_accepted_because to a reason, which is kept in the"
            " contract"
        )
        raise SettingsError([problem], hint=hint)
    return {
        "now": now.as_dict(),
        "at_10x": tenfold.as_dict(),
        "accepted_because": feed.starving_is_accepted_because,
        "ingest_s": round(took, 1),
    }


def _warn(settings: Settings, reads_per_s: float) -> None:
    """Say what costs more than it looks."""
    if not settings.nodes.count:
        pulumi.log.warn("parked: no GPU nodes; ND capacity may not come back when you want it")
    if settings.lake.log_reads or of(settings.lake.classification).log_reads:
        dollars = prices.log_reads_usd(reads_per_s)
        pulumi.log.warn(
            f"StorageRead is logged: up to ${dollars:,.0f} a month if every read of training came from the lake "
            f"({reads_per_s:,.0f} reads/s; from the cache none does)"
        )
    for rule in settings.lake.lifecycle:
        if rule.to == "archive":
            pulumi.log.warn(f"lifecycle: {rule.container} goes to archive; reading it again takes up to 15 hours")
