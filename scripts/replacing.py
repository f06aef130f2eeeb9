"""What ends machines: `cluster.replace` one, `cluster.teardown` all. Both look, ask, drain, look again - and only then
end anything."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feedline.contract import Node
from feedline.errors import OperationError
from feedline.plan import Plan, Step
from feedline.plans import cluster as plans
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GateResult
from feedline.verdicts.drain import lost, same_host
from scripts import chain, hostkeys
from scripts import gate as gates
from scripts.arguments import Arguments
from scripts.arm import VERSIONS, Arm
from scripts.inventory import select, stack_of
from scripts.places import CHECKOUT
from scripts.screen import confirm
from scripts.session import Session
from scripts.verdict_of import finish, with_session

DRAIN = gates.Gate("drain", "drain", changes=True)
GIVE_UP = "--lost goes on without it: what only it has is gone then"


@dataclass(frozen=True)
class Look:
    """What nodes say about leaving: their plans to stop the mounts, and what that would lose."""

    plans: Mapping[str, Plan]
    verdicts: tuple[Verdict, ...]

    @property
    def forbids(self) -> bool:
        """Whether something would be lost."""
        return any(verdict.status is Status.FAIL for verdict in self.verdicts)

    @property
    def hosts(self) -> dict[str, str | None]:
        """The physical host of each node that told it, else None."""
        return {v.subject: v.evidence.get("physical_host") for v in self.verdicts if v.check == "host"}


def one(arguments: Arguments, *, give_up: bool) -> int:
    """Given the options, which name one node, give it another machine and run its gates. `give_up` = it need not
    answer."""
    stack = stack_of(arguments)
    before: dict[str, str | None] = {}

    def work(session: Session) -> int:
        nodes = select(session.contract, arguments)
        if len(nodes) != 1:
            named = f"{len(nodes)} nodes are named, one is replaced at a time"
            raise OperationError(named, hint="--nodes gpu-3; `fab doctor` lists them")
        node, name = nodes[0], nodes[0].name
        steps = plans.replacing(stack, node, VERSIONS["microsoft.compute"])
        refused, looked = _emptied(session, "cluster.replace", [node], {name: steps}, give_up)
        if refused:
            return finish(session, [refused])
        before.update(looked.hosts)
        left = {"node": name, "vm_id": node.vm_id, "physical_host": before.get(name)}
        session.evidence.note(f"replaced/{name}.json", left)
        session.evidence.keep()
        if plans.in_scale_set(node):
            for move in plans.MOVES:
                session.screen.say(f"{name}: {move} …")
                Arm.of(session.contract).change("POST", f"{node.resource_id}/{move}")
        else:
            session.screen.say(f"{name}: pulumi up …")
            _pulumi(steps[0].argv)
        # The operating system is new by our own doing, and so is its host key: the machine is met for the first time.
        known = session.places.known_hosts(session.contract.cluster)
        hostkeys.forget(known, hostkeys.key_name(node.vm_id, node.name))
        return 0

    code = with_session(arguments, work)
    if code or arguments.dry_run:
        return code
    again = replace(arguments, confirm_cluster="", break_lock=False)
    return with_session(again, lambda session: _made_ready(session, before))


def _made_ready(session: Session, before: Mapping[str, str | None]) -> int:
    """Run every gate of the new machine; its physical host is told, and whether it is the old one."""
    (node,) = select(session.contract, session.arguments)
    name = node.name
    results = chain.node_gates(session, node)
    if results[-1].status is Status.PASS:
        now = _look(session, [node], give_up=False).hosts.get(name)
        session.evidence.note(f"replaced/{name}-now.json", {"node": name, "vm_id": node.vm_id, "physical_host": now})
        session.screen.say(same_host(before.get(name), now))
    code = finish(session, results)
    if code == 0:
        session.screen.say("`fab ready` hands the cluster off again, with this machine in it")
    return code


def all_of_it(arguments: Arguments, *, give_up: bool) -> int:
    """Given the options, drain every node and destroy all but the protected data."""
    stack = stack_of(arguments)
    if arguments.nodes or arguments.role:
        raise OperationError("a cluster ends as a whole", hint="leave out --nodes and --role; see fab cluster.replace")

    def work(session: Session) -> int:
        contract, step = session.contract, plans.destroying(stack)
        nodes = [node for node in contract.nodes if node.role == "train"]
        refused, _ = _emptied(session, "cluster.teardown", nodes, {contract.cluster: (step,)}, give_up)
        if refused:
            return finish(session, [refused])
        folder = session.evidence.keep()
        session.screen.say("pulumi destroy …")
        _pulumi(step.argv)
        arm = Arm.of(contract)
        kept = [account.name for account in contract.accounts if arm.get(account.resource_id) is not None]
        session.evidence.note("teardown.json", {"stack": stack, "cluster": contract.cluster, "kept": kept})
        if session.arguments.json:
            told = {"task": "cluster.teardown", "destroyed": contract.cluster, "kept": kept, "evidence": str(folder)}
            print(json.dumps(told, indent=2))
        session.screen.say(f"destroyed; kept: {', '.join(kept) or 'nothing (nothing was protected)'}")
        session.screen.say(f"evidence: {session.places.short(folder)}")
        return 0

    return with_session(arguments, work)


def _emptied(
    session: Session, task: str, nodes: Sequence[Node], ends: Mapping[str, tuple[Step, ...]], give_up: bool
) -> tuple[GateResult | None, Look]:
    """Show and confirm everything, then stop the mounts. Return what refuses, or None; and what the nodes said last.

    What ends is confirmed by the cluster's name before the first mount is stopped: a person who says no has a cluster
    that still works. After the last unmount the nodes are asked once more.
    """
    looked = _look(session, nodes, give_up=give_up)
    if looked.forbids:
        return _refusal(session, nodes, looked), looked
    drains = {name: plan for name, plan in looked.plans.items() if plan}
    shown = {name: Plan((*plan.steps, *ends.get(name, ()))) for name, plan in drains.items()}
    shown |= {name: Plan(steps) for name, steps in ends.items() if name not in shown}
    session.screen.plans(task, shown)
    for name, plan in shown.items():
        session.evidence.note(f"plans/{task}-{name}.json", plan.as_dict())
    if session.arguments.dry_run:
        raise gates.Shown(shown)
    arguments, contract = session.arguments, session.contract
    if not confirm(contract, shown, yes=arguments.yes, confirmed=arguments.confirm_cluster, screen=session.screen):
        raise OperationError("not confirmed; nothing was stopped or destroyed", where=f"cluster {contract.cluster}")
    if drains:
        those = [node for node in nodes if node.name in drains]
        keeper = gates.lock_keeper(contract)
        with session.door.lock(keeper, f"fab {task}", take=arguments.break_lock, said=session.screen.say):
            answers = gates.ask(session, DRAIN, those, {name: plan.digest for name, plan in drains.items()}, {})
        last = _look(session, those, give_up=give_up)
        applied = tuple(Verdict.from_dict(v) for answer in answers.values() for v in answer.verdicts)
        if last.forbids or any(verdict.status is Status.FAIL for verdict in applied):
            worst = last if last.forbids else Look(last.plans, applied)
            return _refusal(session, those, worst), worst
    return None, looked


def _look(session: Session, nodes: Sequence[Node], *, give_up: bool) -> Look:
    """Ask nodes what would be lost. With `give_up` one that does not answer is a warning."""
    told: dict[str, Plan] = {}
    verdicts: list[Verdict] = []
    for group in [[node] for node in nodes] if give_up else [list(nodes)] if nodes else []:
        try:
            answers = gates.ask(session, DRAIN, group, {}, {})
        except OperationError as error:
            if not give_up:
                raise OperationError(error.what, where=error.where, hint=f"{error.hint}; {GIVE_UP}") from error
            session.screen.say(f"{group[0].name}: {error.what}: given up", "bold red")
            verdicts.append(lost(group[0].name, error.what))
            continue
        told |= {name: Plan.from_dict(answer.plan) for name, answer in answers.items() if answer.plan}
        verdicts += [Verdict.from_dict(v) for answer in answers.values() for v in answer.verdicts]
    session.evidence.note("verdicts/drain.json", [verdict.as_dict() for verdict in verdicts])
    return Look(told, tuple(verdicts))


def _refusal(session: Session, nodes: Sequence[Node], looked: Look) -> GateResult:
    names = tuple(node.name for node in nodes)
    return GateResult("drain", Status.FAIL, looked.verdicts, names, session.now(), 0.0, True, (), {})


def _pulumi(argv: Sequence[str]) -> None:
    try:
        done: Any = subprocess.run(
            argv, cwd=CHECKOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise OperationError("pulumi is not on PATH", hint="./run shell, or install Pulumi") from error
    if done.returncode:
        told = "\n".join([line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-15:])
        raise OperationError(
            f"{shlex.join(argv)} ended with {done.returncode}:\n{told}",
            hint="its own words are above; run the task again to go on from there",
        )
