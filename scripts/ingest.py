"""Task `ingest`."""

from __future__ import annotations

from typing import Any

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=True, by_hand=True)
def ingest(arguments: Arguments, source: str = "", dataset: str = "", account: str = "", cap_mbps: int = 0) -> int:
    """Upload a folder of the ingest node with AzCopy, compare it with its manifest, and seal it.

    Steps: hash -> upload -> compare count, bytes and hashes -> manifest -> seal. Without --source the sealed data set
    is verified again. With --account the copy in that account (lake.replicas) is made.
    Usage: fab ingest --source /data/shards [--dataset shards-v2] [--account feedlinedev02]
    """
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "ingest", options(source, dataset, cap_mbps, account))


def options(source: str, dataset: str, cap_mbps: int = 0, account: str = "") -> dict[str, Any]:
    """Given the task's options, return those of the node program; what was not given is left to it."""
    given = {"source": source, "dataset": dataset, "account": account, "cap_mbps": cap_mbps}
    return {name: value for name, value in given.items() if value}
