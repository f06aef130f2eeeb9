"""What ends machines: `cluster.replace` one, `cluster.teardown` all. Both drain first, and both ask."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from feedline.contract import Node
from feedline.errors import OperationError
from feedline.plan import Plan, Step
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GateResult
from scripts import chain
from scripts import gate as gates
from scripts.arguments import Arguments
from scripts.arm import Arm
from scripts.inventory import select, stack_of
from scripts.places import CHECKOUT
from scripts.screen import confirm
from scripts.session import Session
from scripts.verdict_of import finish, with_session

DRAIN = gates.Gate("drain", "drain", ("train",), changes=True)
PROJECT = "feedline"
PULUMI = ("--non-interactive", "--color", "never")
MAX_AGE_S = 24 * 3600.0


def one(arguments: Arguments) -> int:
    """Given the options, which name one node, replace its machine and get the cluster ready again."""
    stack = stack_of(arguments)

    def work(session: Session) -> int:
        nodes = select(session.contract, arguments, ("train",))
        if len(nodes) != 1:
            raise OperationError(
                f"{len(nodes)} nodes are named, one is replaced at a time",
                hint="--nodes gpu-3; `fab doctor` lists them",
            )
        if refused := _refusal(session):
            return finish(session, [refused])
        return _replace(session, stack, nodes[0], gates.run(session, DRAIN))

    code = with_session(arguments, work)
    if code or arguments.dry_run:
        return code
    everything = Arguments(stack=arguments.stack, yes=arguments.yes, json=arguments.json, identity=arguments.identity)
    return with_session(everything, lambda session: chain.get_ready(session, {}, again=False, max_age_s=MAX_AGE_S))


def _replace(session: Session, stack: str, node: Node, drained: GateResult) -> int:
    whole = "/virtualMachineScaleSets/" not in node.resource_id
    command = (
        ("pulumi", "up", "--stack", stack, "--target-replace", urn(stack, node), "--yes", "--skip-preview", *PULUMI)
        if whole
        else ("az", "rest", "--method", "post", "--url", f"{node.resource_id}/reimage")
    )
    _ask(
        session,
        "cluster.replace",
        node.name,
        Step.run(command, "the machine ends, another one takes its name", destroys=node.name),
    )
    session.evidence.note(f"replaced/{node.name}.json", {"node": node.name, "vm_id": node.vm_id, **_host(drained)})
    if whole:
        _pulumi(command)
    else:
        Arm.of(session.contract).change("POST", f"{node.resource_id}/reimage")
    session.evidence.keep()
    return 0


def all_of_it(arguments: Arguments) -> int:
    """Given the options, drain every training node and destroy all but the protected data."""
    stack = stack_of(arguments)

    def work(session: Session) -> int:
        if any(node.role == "train" for node in session.contract.nodes):
            if refused := _refusal(session):
                return finish(session, [refused])
            gates.run(session, DRAIN)
        command = ("pulumi", "destroy", "--stack", stack, "--exclude-protected", "--yes", "--skip-preview", *PULUMI)
        step = Step.run(command, "machines, network and alerts end; the lake stays", destroys=f"cluster {stack}")
        _ask(session, "cluster.teardown", session.contract.cluster, step)
        _pulumi(command)
        kept = (
            "nothing is protected in the sandbox"
            if session.contract.is_sandbox
            else "the lake, its identities and logs"
        )
        session.screen.say(f"destroyed; kept: {kept}")
        return 0

    return with_session(arguments, work)


def _refusal(session: Session) -> GateResult | None:
    """Look at every node before the first mount is stopped: return what refuses, or None."""
    nodes = select(session.contract, session.arguments, DRAIN.roles)
    results = gates.ask(session, DRAIN, nodes, {}, {})
    verdicts = tuple(Verdict.from_dict(v) for result in results.values() for v in result.verdicts)
    if not any(verdict.status is Status.FAIL for verdict in verdicts):
        return None
    names = tuple(node.name for node in nodes)
    return GateResult("drain", Status.FAIL, verdicts, names, session.now(), 0.0, True, (), {})


def urn(stack: str, node: Node) -> str:
    """Given a stack and a node of an availability set, return the name by which Pulumi knows its VM."""
    return f"urn:pulumi:{stack}::{PROJECT}::feedline:nodes:Nodes$azure-native:compute:VirtualMachine::{node.name}"


def _ask(session: Session, task: str, subject: str, step: Step) -> None:
    plans = {subject: Plan((step,))}
    session.screen.plans(task, plans)
    if session.arguments.dry_run:
        raise gates.Shown(plans)
    arguments, contract = session.arguments, session.contract
    if not confirm(contract, plans, yes=arguments.yes, confirmed=arguments.confirm_cluster, screen=session.screen):
        raise OperationError("not confirmed; nothing was destroyed", where=f"cluster {contract.cluster}")


def _pulumi(argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(argv, cwd=CHECKOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise OperationError("pulumi is not on PATH", hint="./run shell, or install Pulumi") from error
    if done.returncode:
        told = "\n".join([line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-15:])
        raise OperationError(
            f"{shlex.join(argv)} ended with {done.returncode}:\n{told}", hint="its own words are above"
        )


def _host(drained: GateResult) -> dict[str, object]:
    return {
        "physical_host": next((v.evidence.get("physical_host") for v in drained.verdicts if v.check == "host"), None)
    }
