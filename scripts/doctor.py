"""Task `doctor`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False, by_hand=True)
def doctor(arguments: Arguments, cloud: bool = False) -> int:
    """Ask every node whether it is what the contract says: set up, reachable, right time, right disks (read-only).

    Steps: ssh in -> cloud-init's end and our stage marker -> versions, DNS, clock, identity -> GPUs, NVMe and NIC
    against the catalogue. With --cloud no node is asked but Azure, before there is a cluster: are the sizes offered, is
    the quotas enough, are the names free, may you. Usage: fab doctor [--nodes gpu-0]; fab doctor --cloud --stack prod
    """
    if cloud and not arguments.commands:
        return _cloud(arguments)
    from scripts.verdict_of import one_gate

    return one_gate(arguments, "doctor")


def _cloud(arguments: Arguments) -> int:
    from scripts.arm import Arm
    from scripts.cloud import ask, show
    from scripts.inventory import stack_of
    from scripts.places import CHECKOUT
    from scripts.settings_file import read

    settings = read(CHECKOUT, stack_of(arguments))
    arm = Arm.sandbox() if settings.is_sandbox else Arm.azure()
    return show(ask(arm, settings), as_json=arguments.json, what="doctor --cloud", cluster=settings.cluster)
