"""How every gate runs: facts and plan from each node, the question, the steps, the verdict, the evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from feedline import handoff as holds
from feedline.contract import Contract, Node
from feedline.errors import CheckError, FeedlineError, OperationError
from feedline.plan import Plan
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GateResult, complete, gate_status
from scripts.inventory import select
from scripts.runner import Result, fan_out
from scripts.screen import confirm
from scripts.session import Session


@dataclass(frozen=True)
class Gate:
    """A gate: the node program's verb behind it, the roles it concerns (none = all), whether it changes nodes, and
    whether it needs them for itself, so that two measurements do not meet."""

    name: str
    verb: str
    roles: tuple[str, ...] = ()
    changes: bool = False
    exclusive: bool = False


GATES: Mapping[str, Gate] = {
    gate.name: gate
    for gate in (
        Gate("doctor", "facts"),
        Gate("access", "access"),
        Gate("ingest", "ingest", ("ingest",), changes=True),
        Gate("nvme", "nvme", ("train",), changes=True),
        Gate("cache", "cache", ("train",), changes=True),
        Gate("validate", "validate", ("train",), exclusive=True),
    )
}


class Shown(Exception):
    """--dry-run: the plans were shown, and nothing is done."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        super().__init__()
        self.plans = plans


def run(session: Session, gate: Gate, options: Mapping[str, Any] | None = None) -> GateResult:
    """Given a session, a gate and its options for the node program, run it and return its result; evidence and the
    gate's record are written. Raise OperationError when something could not be done, Shown after a dry run's plan."""
    nodes = select(session.contract, session.arguments, gate.roles)
    started, options = time.monotonic(), options or {}
    before = read_facts(session, nodes) if gate.exclusive else {}
    with _lock(session, gate) if gate.exclusive else nullcontext():
        results = ask(session, gate, nodes, {}, options)
    plans = {name: Plan.from_dict(result.plan) for name, result in results.items() if result.plan}
    changed: tuple[str, ...] = ()
    if plans:
        session.screen.plans(gate.name, plans)
        for name, plan in plans.items():
            session.evidence.note(f"plans/{gate.name}-{name}.json", plan.as_dict())
    todo = {name: plan for name, plan in plans.items() if plan}
    if todo:
        results |= _carry_out(session, gate, todo, options)
        changed = _changes(results, todo)
    after = (
        {name: result.facts for name, result in results.items()} if gate.verb == "facts" else read_facts(session, nodes)
    )
    session.facts.update(after)
    verdicts = _verdicts(gate, results, nodes, before, after)
    status = gate_status(verdicts, is_sandbox=session.contract.is_sandbox)
    now, took = session.now(), time.monotonic() - started
    result = GateResult(gate.name, status, verdicts, tuple(n.name for n in nodes), now, took, True, changed, after)
    _remember(session, gate, result, after)
    return result


def ask(
    session: Session, gate: Gate, nodes: Sequence[Node], digests: Mapping[str, str], options: Mapping[str, Any]
) -> dict[str, Result]:
    """Given nodes and, for those whose plan is to be carried out, its digest, return each node's answer.

    Raise the error of a node that could not answer - of all of them, if there are several.
    """
    with session.screen.progress(gate.name, [node.name for node in nodes]) as notify:

        def one(node: Node) -> Result:
            notify(node.name, {"text": f"{gate.name} …"})
            return session.door.call(
                node,
                gate.verb,
                apply=digests.get(node.name),
                options=options,
                progress=lambda line: notify(node.name, line),
            )

        answers = fan_out(nodes, one, session.arguments.parallel)
    results = {name: answer for name, answer in answers.items() if isinstance(answer, Result)}
    for name, result in results.items():
        _note(session, gate, name, result)
    failures = [answer for answer in answers.values() if isinstance(answer, FeedlineError)]
    if failures:
        session.evidence.keep()
        raise failures[0] if len(failures) == 1 else _together(failures, len(nodes))
    return results


def read_facts(session: Session, nodes: Sequence[Node]) -> dict[str, Mapping[str, Any]]:
    """Given nodes, return what each says about itself now; one cheap round trip each."""
    reading = Gate("facts", "facts")
    return {name: result.facts for name, result in ask(session, reading, nodes, {}, {"brief": True}).items()}


def _carry_out(session: Session, gate: Gate, todo: Mapping[str, Plan], options: Mapping[str, Any]) -> dict[str, Result]:
    arguments, contract = session.arguments, session.contract
    if arguments.dry_run:
        raise Shown(todo)
    if not confirm(contract, todo, yes=arguments.yes, confirmed=arguments.confirm_cluster, screen=session.screen):
        raise OperationError("not confirmed; nothing was changed", where=f"cluster {contract.cluster}")
    # An interrupted change must not leave the earlier PASS behind.
    session.state.forget(gate.name)
    nodes = [contract.node(name) for name in todo]
    with _lock(session, gate):
        return ask(session, gate, nodes, {name: plan.digest for name, plan in todo.items()}, options)


def _lock(session: Session, gate: Gate) -> Any:
    keeper = lock_keeper(session.contract)
    return session.door.lock(keeper, f"fab {gate.name}", take=session.arguments.break_lock, said=session.screen.say)


def lock_keeper(contract: Contract) -> Node:
    """Given a contract, return the node that keeps the cluster's lock: the ingest node, else the first one."""
    return next((node for node in contract.nodes if node.role == "ingest"), contract.nodes[0])


def _verdicts(
    gate: Gate,
    results: Mapping[str, Result],
    nodes: Sequence[Node],
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
) -> tuple[Verdict, ...]:
    found = [Verdict.from_dict(raw) for result in results.values() for raw in result.verdicts]
    for name in before:
        under = holds.moved(before[name], after.get(name, {}))
        if under:
            found.append(
                Verdict(
                    gate.name,
                    "same machine",
                    name,
                    Status.INVALID,
                    "MOVED",
                    f"while it was measured, {' and '.join(under)}",
                    f"run `fab {gate.name}` again",
                )
            )
    return complete(gate.name, found, [node.name for node in nodes])


def _remember(session: Session, gate: Gate, result: GateResult, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the answer: as evidence always, as the gate's record if every node it concerns was asked."""
    session.evidence.note(
        f"verdicts/{gate.name}.json",
        {
            "gate": gate.name,
            "status": str(result.status),
            "measured_at": holds.iso(result.measured_at),
            "seconds": round(result.seconds, 3),
            "nodes": list(result.nodes),
            "verdicts": [v.as_dict() for v in result.verdicts],
            "bound_to": {n: holds.ties(f) for n, f in facts.items()},
        },
    )
    whole = {node.name for node in session.contract.nodes if not gate.roles or node.role in gate.roles} <= set(
        result.nodes
    )
    if whole:
        digest = holds.contract_digest(session.contract)
        session.state.save(
            holds.Record(
                gate.name,
                result.measured_at,
                result.seconds,
                digest,
                result.nodes,
                {name: holds.ties(f) for name, f in facts.items()},
                result.verdicts,
            )
        )
    elif result.status is not Status.PASS:
        session.state.forget(gate.name)


def _note(session: Session, gate: Gate, name: str, result: Result) -> None:
    label = name if gate.verb == "facts" else f"{name}-{gate.name}"
    session.evidence.note(f"facts/{label}.json", dict(result.facts))
    if result.measurements:
        session.evidence.note(f"measurements/{gate.name}-{name}.json", dict(result.measurements))
    if result.applied:
        session.evidence.note(f"plans/{gate.name}-{name}-applied.json", [dict(step) for step in result.applied])


def _changes(results: Mapping[str, Result], todo: Mapping[str, Plan]) -> tuple[str, ...]:
    done = [f"{name}: {len(results[name].applied)} steps done" for name in todo if results[name].changed]
    return (f"changed: {', '.join(done)}",) if done else ()


def _together(failures: Sequence[FeedlineError], asked: int) -> FeedlineError:
    kind: Callable[..., FeedlineError] = (
        CheckError if all(isinstance(f, CheckError) for f in failures) else OperationError
    )
    lines = [f"  - {line}" for failure in failures for line in [str(failure).replace("\n  hint:", "\n    hint:")]]
    return kind("\n".join([f"{len(failures)} of {asked} nodes could not answer:", *lines]))
