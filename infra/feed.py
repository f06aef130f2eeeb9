"""The feed plan, told in preview: a stack that would starve its GPUs by construction says so before anything is
bought."""

from __future__ import annotations

from typing import Any

import pulumi

from feedline.catalog.nd_series import SIZES
from feedline.errors import SettingsError
from feedline.settings import Settings
from feedline.sizing import plan, remedies


def feed_plan(settings: Settings) -> dict[str, Any]:
    """Given the settings, log the plan for today and for ten times the data, and return both as JSON values.

    Raise SettingsError when it starves today and nobody wrote down why that is accepted.
    """
    size, feed = SIZES[settings.nodes.size], settings.feed
    now, tenfold = (plan(settings.workload, size, settings.nodes.count, feed.mode, scale=scale) for scale in (1, 10))
    pulumi.log.info(f"feed plan: {now.message}")
    pulumi.log.info(f"feed plan at 10x: {tenfold.message}")
    if not settings.nodes.count:
        pulumi.log.warn("parked: no GPU nodes; ND capacity may not come back when you want it")
    if now.starved and not feed.starving_is_accepted_because:
        problem = f"feedline:feed: this cluster cannot be fed: {now.message}"
        hint = f"{remedies(now)}; or set feed.starving_is_accepted_because to a reason, which is kept in the contract"
        raise SettingsError([problem], hint=hint)
    return {"now": now.as_dict(), "at_10x": tenfold.as_dict(), "accepted_because": feed.starving_is_accepted_because}
