"""Task `ready`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=True, by_hand=True)
def ready(arguments: Arguments, source: str = "", dataset: str = "", again: bool = False, max_age: int = 24) -> int:
    """Run every gate in order and hand off: doctor, access, ingest, nvme, cache, validate, handoff.

    Stops at the first gate that does not pass, and says which. What was measured before and still holds is not
    measured again (--again does). Usage: fab ready --source /data/shards [--yes]
    """
    from scripts.chain import get_ready
    from scripts.ingest import options
    from scripts.verdict_of import by_hand, with_session

    gate_options = {"ingest": options(source, dataset), "cache": {"again": True} if again else {}}
    if arguments.commands and not arguments.dry_run:
        return by_hand(arguments, ("infra", "doctor", "access", "ingest", "nvme", "cache", "validate"), gate_options)
    return with_session(
        arguments, lambda session: get_ready(session, gate_options, again=again, max_age_s=max_age * 3600)
    )
