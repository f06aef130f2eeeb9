"""Task `access`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False, by_hand=True)
def access(arguments: Arguments) -> int:
    """Ask the data plane, as each node's identity, for all it may do and all it must not (the RBAC gate).

    Steps: every grant's positives, repeated on fresh connections -> the negatives, which pass only when the role says
    no. Waits for propagation by asking. Usage: fab access [--nodes ingest-0]
    """
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "access")
