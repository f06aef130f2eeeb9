"""Which containers the nodes mount, and how."""

from __future__ import annotations

from feedline.contract import Mount
from feedline.names import CACHE_ROOT
from feedline.settings import Settings


def mounts(settings: Settings) -> tuple[Mount, ...]:
    """Given the settings, return the lake's mounts on every training node."""

    def mount(name: str, read_only: bool, mode: str, replicas: tuple[str, ...]) -> Mount:
        account, cache = settings.lake.account, f"{CACHE_ROOT}/{name}"
        return Mount(name, f"/mnt/{name}", account, name, "train", "train", read_only, mode, cache, replicas)

    # Checkpoints are never preloaded: preload makes a mount read-only.
    return (
        mount("training-data", True, settings.feed.mode, settings.lake.replicas),
        mount("checkpoints", False, "file_cache", ()),
    )
