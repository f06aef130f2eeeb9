"""Task `validate`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False, locks=True, by_hand=True)
def validate(arguments: Arguments) -> int:
    """Measure whether the storage keeps the accelerators busy, with the counters that prove what was measured.

    Steps: the harness without I/O -> a cold read over the network -> warm reads from NVMe with emulated accelerators
    -> the verdict. Usage: fab validate [--nodes gpu-0] [--json]
    """
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "validate")
