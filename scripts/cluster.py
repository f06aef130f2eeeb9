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
    """List storage accounts of the subscription outside the approved places; exit 2 if one looks like a copy of the
    data.

    Steps: list every storage account by ARM -> compare with the contract -> look at the names of their containers.
    Reads names only. Usage: fab cluster.shadow --stack prod [--json]
    """
    from feedline.verdicts.shadow import judge
    from scripts.arm import Arm
    from scripts.cloud import STORAGE, containers_of, show
    from scripts.inventory import read

    contract = read(arguments)
    arm = Arm.of(contract)
    accounts = list(arm.list(f"/subscriptions/{contract.subscription_id}/providers/{STORAGE}"))
    verdicts = judge(contract, accounts, containers_of(arm, accounts))
    return show(verdicts, as_json=arguments.json, what="cluster.shadow", cluster=contract.cluster)


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
