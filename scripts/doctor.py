"""Task `doctor`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False)
def doctor(arguments: Arguments) -> int:
    """Ask every node whether it is what the contract says: set up, reachable, right time, right disks (read-only).

    Steps: ssh in -> cloud-init's end and our stage marker -> versions, DNS, clock, identity -> GPUs, NVMe and NIC
    against the catalogue. Usage: fab doctor [--nodes gpu-0]
    """
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "doctor")
