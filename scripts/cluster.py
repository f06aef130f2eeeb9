"""Tasks `cluster.*`: the cluster as a whole, on the second day."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False)
def drift(arguments: Arguments) -> int:
    """Compare what Azure has with what the last `up` made; exit 2 if somebody changed something by hand.

    Steps: ask ARM about every resource (a refresh that changes nothing) -> list what is gone or changed. A change of
    the settings that is not applied yet is no drift. Usage: fab cluster.drift --stack prod [--json]
    """
    from scripts.drift import look

    return look(arguments)


@runbook(changes=False)
def shadow(arguments: Arguments) -> int:
    """List storage accounts and copies of data sets outside the approved places; exit 2 if there is any.

    Steps: list every storage account of the subscription by ARM -> compare with the contract and the tags -> look at
    the containers of the others, and for our seal in them. Reads only; what is closed is said to be unknown. Usage: fab
    cluster.shadow --stack prod [--json]
    """
    from scripts.shadow import look

    return look(arguments)


@runbook(changes=True)
def replace(arguments: Arguments, lost: bool = False) -> int:
    """Give a node another machine with the same name and address: drain it, make it anew, run all its gates.

    Steps: what only it has -> confirm -> stop its mounts -> look again -> note its physical host -> delete and make it
    again -> every gate of this node. Refuses (exit 2) while files are open or not in the store; --lost gives up a node
    that does not answer. Usage: fab cluster.replace --nodes gpu-3 --stack prod
    """
    from scripts.replacing import one

    return one(arguments, give_up=lost)


@runbook(changes=True)
def teardown(arguments: Arguments, lost: bool = False) -> int:
    """Destroy the cluster and keep the lake: refuses (exit 2) while a checkpoint is not in the store.

    Steps: what only the nodes have -> confirm -> stop their mounts -> look again -> `pulumi destroy
    --exclude-protected`. Accounts, containers, identities and logs stay; --lost gives up nodes that do not answer.
    Usage: fab cluster.teardown --stack dev
    """
    from scripts.replacing import all_of_it

    return all_of_it(arguments, give_up=lost)
