"""Task `cache`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=True, by_hand=True)
def cache(arguments: Arguments, again: bool = False) -> int:
    """Mount the containers with BlobFuse2, cached on NVMe, and load the data set into the cache.

    Steps: configuration and systemd unit -> mount -> preload -> presence by allocated blocks and hashes.
    Usage: fab cache [--nodes gpu-0] [--again]
    """
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "cache", {"again": True} if again else {})
