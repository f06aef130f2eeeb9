"""Something to ingest: shards made on the ingest node, where real users have theirs already."""

from __future__ import annotations

from feedline.errors import OperationError
from scripts import remote
from scripts.gate import lock_keeper
from scripts.runner import Runner
from scripts.session import Session

FOLDER = "/var/tmp/feedline-rehearsal"
SHARD_BYTES = 16 << 20


def make(session: Session) -> str:
    """Given a session, make the workload's data set on the ingest node; return what that node said."""
    assert isinstance(session.door, Runner)
    node = lock_keeper(session.contract)
    if node.role != "ingest":
        raise OperationError("the contract has no ingest node", where="contract")
    count = max(1, session.contract.workload.dataset_bytes // SHARD_BYTES)
    return session.door.put(node, remote.argv("shards", (FOLDER, str(count), str(SHARD_BYTES))), b"")
