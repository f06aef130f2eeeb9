"""`feedline:feed` and `feedline:hot_tier`: what the GPUs eat, and what may stand between the lake and them."""

from __future__ import annotations

from dataclasses import dataclass

from feedline import checks
from feedline.schema import key

MODES = ("preload", "file_cache")
LUSTRE_TIERS = {
    "AMLFS-Durable-Premium-40": 48,
    "AMLFS-Durable-Premium-125": 16,
    "AMLFS-Durable-Premium-250": 8,
    "AMLFS-Durable-Premium-500": 4,
}
"""Azure Managed Lustre: tier (MB/s per TiB in its name) and the TiB in which its size grows. Source: azure-stack-docs,
create-file-system-portal.md, 2024-11."""


@dataclass(frozen=True)
class Feed:
    """`feedline:feed`: what the GPUs eat."""

    profile: str = key(
        "A workload of the catalogue (unet3d, resnet50, cosmoflow) or `custom` with the numbers below.",
        "unet3d",
        checks.profile,
    )
    dataset: str = key(
        "Name of the data set: its prefix in training-data.",
        "shards-v1",
        checks.matches(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", "a-z, 0-9, '.', '-'"),
    )
    dataset_bytes: int = key("Its size in bytes.", 4_000_000_000_000, checks.between(1, 1e18, "bytes"))
    mode: str = key(
        "How it is served: `preload` (all of it on NVMe before training) or `file_cache`.",
        "preload",
        checks.one_of(*MODES),
        "preload",
    )
    record_bytes: int = key("custom: bytes of one sample.", 1_048_576, checks.between(0, 1e12, "bytes"), 0)
    batch: int = key("custom: samples a step on one GPU.", 4, checks.between(0, 1e6, "samples"), 0)
    compute_s: float = key("custom: seconds of work a step.", 0.42, checks.between(0, 3600, "seconds"), 0.0)
    au_target: float = key(
        "Least accelerator utilisation, 0..1; 0 = the profile's own.", 0.9, checks.between(0, 1, "a fraction"), 0.0
    )
    headroom: float = key(
        "How much more than needed the storage must supply.", 1.2, checks.between(1, 10, "a factor"), 1.2
    )
    loaders: int = key("Reader threads per GPU.", 4, checks.between(1, 64, "threads"), 4)
    starving_is_accepted_because: str = key(
        "Deploy although the feed plan says it starves; the reason is kept.", "", None, ""
    )


@dataclass(frozen=True)
class HotTier:
    """`feedline:hot_tier`: storage between the lake and the nodes, for what neither NVMe nor the lake can serve."""

    kind: str = key(
        "`none`, `lustre` (Azure Managed Lustre that imports from a blob account of its own) or `premium_blob` (a"
        " premium block blob account, mounted as the lake is).",
        "lustre",
        checks.one_of("none", "lustre", "premium_blob"),
        "none",
    )
    account: str = key(
        "Name of its own storage account. Lustre's import needs account keys there, so it is never the lake's.",
        "feedlinehot01",
        checks.optional(checks.account),
        "",
    )
    tib: int = key("lustre: its size in TiB.", 16, checks.between(0, 12_800, "TiB"), 0)
    tier: str = key(
        "lustre: the tier; its last number is MB/s per TiB.",
        "AMLFS-Durable-Premium-250",
        checks.one_of(*LUSTRE_TIERS),
        "AMLFS-Durable-Premium-250",
    )
    provider_object_id: str = key(
        "lustre: object id of the service principal `HPC Cache Resource Provider` in your tenant; it gets the two roles"
        " that its import needs, on that account only.",
        "6f1d2c0e-0000-4000-8000-000000000002",
        checks.optional(checks.guid),
        "",
    )
    exception_reason: str = key(
        "lustre: why account keys are accepted on its account. The pack asks for its own exception too"
        " (policies/exceptions.toml): a program must not excuse itself.",
        "",
        None,
        "",
    )
    exception_until: str = key(
        "lustre: when that exception ends (a day).", "2027-03-01", checks.optional(checks.day), ""
    )


def problems(feed: Feed, hot: HotTier, accounts: tuple[str, ...]) -> list[str]:
    """Given feed and hot tier and the lake's accounts, return what cannot work together."""
    found = []
    missing = [key for key in ("record_bytes", "batch", "compute_s") if not getattr(feed, key)]
    if feed.profile == "custom" and missing:
        found.append(f"feedline:feed: profile custom needs {', '.join(missing)}")
    if feed.profile != "custom" and len(missing) < 3:
        found.append(
            f"feedline:feed: record_bytes, batch and compute_s belong to profile custom, not to {feed.profile}"
        )
    if hot.kind == "none":
        return found
    if not hot.account:
        found.append(f"feedline:hot_tier.account: {hot.kind} needs a storage account of its own")
    if hot.account in accounts:
        found.append(f"feedline:hot_tier.account: {hot.account} is the lake's; the hot tier needs its own")
    if hot.kind == "lustre":
        step = LUSTRE_TIERS[hot.tier]
        if not hot.tib or hot.tib % step:
            found.append(f"feedline:hot_tier.tib: {hot.tib} TiB; {hot.tier} comes in steps of {step} TiB")
        if not hot.provider_object_id:
            found.append("feedline:hot_tier.provider_object_id: lustre's import needs it (hint: az ad sp list)")
        if not (hot.exception_reason and hot.exception_until):
            found.append(
                "feedline:hot_tier: lustre's import needs account keys on its account: give exception_reason and"
                " exception_until"
            )
    return found
