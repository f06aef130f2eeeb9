"""Task `handoff`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False)
def handoff(arguments: Arguments, max_age: int = 24) -> int:
    """Check that every gate's PASS still holds, then write the hand-off bundle; refuse otherwise.

    Steps: ask each node who it is now -> compare with what the verdicts are bound to -> bundle with contract, verdicts,
    report and a page for whoever gets the keys. Usage: fab handoff [--max-age 24]
    """
    from scripts.chain import hand_off
    from scripts.verdict_of import with_session

    return with_session(arguments, lambda session: hand_off(session, max_age * 3600))
