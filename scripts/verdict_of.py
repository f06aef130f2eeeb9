"""The end of a task: one table (or JSON), where the evidence lies, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from feedline import handoff as holds
from feedline.plan import Plan
from feedline.render import commands, report
from feedline.verdict import Status
from feedline.verdicts.cluster import GateResult
from scripts import gate as gates
from scripts.arguments import Arguments
from scripts.inventory import load, select
from scripts.log import masked
from scripts.session import Session, opened


def one_gate(arguments: Arguments, name: str, options: Mapping[str, Any] | None = None) -> int:
    """Given the options and a gate's name, run this gate alone; return 0 if it passes, 2 if it does not."""
    if arguments.commands and not arguments.dry_run:
        return by_hand(arguments, [name], {name: options or {}})
    return with_session(arguments, lambda session: finish(session, [gates.run(session, gates.GATES[name], options)]))


def by_hand(arguments: Arguments, names: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> int:
    """Given the options and gates (or `infra`), print what would do the same by hand; return 0. No node is asked."""
    contract = load(arguments)
    lines = ["# the simulated Azure: these names exist in the rehearsal only"] if contract.is_sandbox else []
    for name in names:
        roles = gates.GATES[name].roles if name in gates.GATES else ()
        lines += commands.equivalent(contract, name, select(contract, arguments, roles), options.get(name, {}))
    _print_lines(arguments, lines)
    return 0


def _print_plans(arguments: Arguments, plans: Mapping[str, Plan]) -> None:
    """Nodes with the same plan share one listing."""
    same: dict[tuple[str, ...], list[str]] = {}
    for name, plan in plans.items():
        same.setdefault(tuple(commands.of_plan(plan)), []).append(name)
    lines = [line for steps, names in same.items() for line in (f"# as root on {', '.join(names)}:", *steps)]
    _print_lines(arguments, lines)


def _print_lines(arguments: Arguments, lines: Sequence[str]) -> None:
    """Plainly, for a shell to read: never wrapped, never coloured."""
    shown = [masked(line) for line in lines]
    print(json.dumps({"commands": shown}, indent=2) if arguments.json else "\n".join(shown))


def with_session(arguments: Arguments, work: Callable[[Session], int]) -> int:
    """Given the options and what to do, do it in a session and return its exit code; a dry run ends well after its
    plan."""
    with opened(arguments) as session:
        try:
            return work(session)
        except gates.Shown as shown:
            if arguments.commands:
                _print_plans(arguments, shown.plans)
            elif arguments.json:
                plans = {name: plan.as_dict() for name, plan in shown.plans.items()}
                print(json.dumps({"dry_run": True, "plans": plans}, indent=2))
            session.screen.say("dry run: nothing was done")
            return 0


def finish(
    session: Session, results: Sequence[GateResult], *, extra: Mapping[str, Any] | None = None, keep: bool = True
) -> int:
    """Given the results of one or more gates, show and keep them; return 0 if all pass, else 2."""
    session.evidence.note(
        "report.txt", report.text(session.contract, results, at=session.now(), cache_program=cache_program(session))
    )
    folder = session.evidence.keep() if keep or session.evidence.folder else None
    if session.arguments.json:
        print(
            json.dumps(
                {**as_json(session, results), "evidence": str(folder) if folder else None, **(extra or {})}, indent=2
            )
        )
    session.screen.table(session.contract, results)
    if folder:
        session.screen.say(f"evidence: {session.places.short(folder)}")
    return 0 if all(result.status is Status.PASS for result in results) else 2


def as_json(session: Session, results: Sequence[GateResult]) -> dict[str, Any]:
    """Given results, return what --json prints."""
    return {
        "cluster": session.contract.cluster,
        "simulated": session.contract.is_sandbox,
        "gates": [
            {
                "gate": r.gate,
                "status": str(r.status),
                "fresh": r.fresh,
                "measured_at": holds.iso(r.measured_at),
                "seconds": round(r.seconds, 3),
                "nodes": list(r.nodes),
                "changed": list(r.changed),
                "verdicts": [v.as_dict() for v in r.verdicts],
            }
            for r in results
        ],
    }


def cache_program(session: Session) -> str:
    """Return what the nodes call their BlobFuse2, or "" where none has said yet."""
    said = {
        f"{facts['blobfuse2']}{' (the stand-in)' if facts.get('blobfuse2_is_standin') else ''}"
        for facts in session.facts.values()
        if facts.get("blobfuse2")
    }
    return ", ".join(sorted(said))
