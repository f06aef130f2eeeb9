"""The end of a task: one table (or JSON), where the evidence lies, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from feedline import handoff as holds
from feedline.render import report
from feedline.verdict import Status
from feedline.verdicts.cluster import GateResult
from scripts import gate as gates
from scripts.arguments import Arguments
from scripts.session import Session, opened


def one_gate(arguments: Arguments, name: str, options: Mapping[str, Any] | None = None) -> int:
    """Given the options and a gate's name, run this gate alone; return 0 if it passes, 2 if it does not."""
    return with_session(arguments, lambda session: finish(session, [gates.run(session, gates.GATES[name], options)]))


def with_session(arguments: Arguments, work: Callable[[Session], int]) -> int:
    """Given the options and what to do, do it in a session and return its exit code; a dry run ends well after its
    plan."""
    with opened(arguments) as session:
        try:
            return work(session)
        except gates.Shown as shown:
            if arguments.json:
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
