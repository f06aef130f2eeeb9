"""What every task of the runbook understands on its command line."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Arguments:
    """The common options; `extra` holds those of one task (`source`, `dataset`, …)."""

    stack: str = ""
    contract: str = ""
    nodes: str = ""
    role: str = ""
    parallel: int = 32
    identity: str = ""
    yes: bool = False
    dry_run: bool = False
    confirm_cluster: str = ""
    json: bool = False
    break_lock: bool = False
    commands: bool = False

    @classmethod
    def split(cls, given: dict[str, Any]) -> tuple[Arguments, dict[str, Any]]:
        """Given all options of a task, return the common ones and the rest."""
        names = {field.name for field in fields(cls)}
        common = {name: value for name, value in given.items() if name in names}
        return cls(**common), {name: value for name, value in given.items() if name not in names}


HELP = {
    "stack": "the Pulumi stack to read the contract from (or FEEDLINE_STACK)",
    "contract": "a contract file instead of a stack; needs no Pulumi",
    "nodes": "only these nodes: names or patterns such as gpu-[0-3], comma-separated",
    "role": "only nodes of this role: train or ingest",
    "parallel": "how many nodes at once",
    "identity": "the SSH private key (or FEEDLINE_SSH_KEY; else your ssh agent)",
    "yes": "answer the plan's question with yes",
    "dry-run": "stop after showing the plan",
    "confirm-cluster": "the cluster's name, for plans that destroy something, where no terminal can ask",
    "json": "print the result as JSON",
    "commands": "print the same by hand (az, azcopy, blobfuse2, ...) and do nothing; with --dry-run: of this plan",
    "break-lock": "take the cluster's lock from whoever holds it",
    "again": "measure anew, even where an earlier answer still holds",
    "max-age": "hours for which an earlier answer holds",
    "wipe": "local disks whose content nobody needs, comma-separated: /dev/nvme0n1,…",
    "source": "the folder on the ingest node to ingest",
    "account": "ingest the copy in this account (default: the lake's first)",
    "dataset": "the data set's name (default: the one in the settings)",
    "cloud": "ask Azure what it has for this stack, before `pulumi up`; no node is asked",
    "lost": "go on without nodes that do not answer: what only they have is gone",
    "to": "the folder to write to; made if it is not there",
    "cap-mbps": "limit the upload to this many megabits per second",
}
CHANGING = ("yes", "dry_run", "confirm_cluster", "break_lock")
"""Options that only tasks which change something offer."""
