"""Three things that go wrong in a cluster's life, and the verdict each must turn into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedline.errors import FeedlineError, OperationError
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GateResult
from scripts import gate as gates
from scripts.arguments import Arguments
from scripts.rehearsal.stages import Stages
from scripts.session import Session, opened

SHARD = "shard-00005.bin"


@dataclass(frozen=True)
class Fault:
    """What is broken (the sandbox's own fault and its arguments), which gate must notice, where, and with which
    words."""

    title: str
    inject: tuple[str, ...]
    gate: str
    nodes: str
    reason: str
    mentions: str
    options: Mapping[str, Any]


FAULTS: Mapping[str, Fault] = {
    "identity-without-role": Fault(
        "identity train loses its role on container training-data", ("role-removed", "train", "training-data"),
        "access", "gpu-0", "ROLE_MISSING", "train may list training-data", {"deadline_s": 8},
    ),
    "cache-on-os-disk": Fault(
        "the cache of gpu-0 moves to the OS disk behind everyone's back", ("cache-on-os-disk", "gpu-0"),
        "validate", "gpu-0", "CACHE_ON_OS_DISK", "OS disk", {},
    ),
    "ingest-loses-blob": Fault(
        "a blob of the sealed data set vanishes from the store", ("blob-lost", "training-data", "{dataset}/" + SHARD),
        "ingest", "", "MISSING_BLOBS", SHARD, {},
    ),
}  # fmt: skip


def rehearse(name: str, fault: Fault, arguments: Arguments, stages: Stages) -> bool:
    """Given a fault, inject it into the running sandbox, run its gate, revert it and run the gate again.

    Return whether the gate failed with the right reason while it was there, and passed when it was gone.
    """
    from dataclasses import replace

    arguments = replace(arguments, nodes=fault.nodes)
    with opened(arguments) as session:
        words = tuple(word.format(dataset=session.contract.workload.dataset) for word in fault.inject)
        with stages.stage(f"fault {name}: {fault.title}"):
            stages.sandbox(f"fault-{name}", "fault", *words, hint="is the rehearsed cluster there? ./run rehearsal")
        try:
            with stages.stage(f"gate {fault.gate} with the fault"):
                during = _judged(session, fault, fault.options)
        finally:
            with stages.stage(f"revert {name}"):
                stages.sandbox(f"revert-{name}", "fault", words[0], "--revert")
        caught = any(_is_it(verdict, fault) for verdict in during.verdicts) and during.status is Status.FAIL
        session.screen.table(session.contract, [during])
        head, style = ("CAUGHT", "bold green") if caught else ("NOT CAUGHT", "bold red")
        session.screen.say(f"{head}: {fault.gate} says {during.status}; {fault.reason} was due", style)
        with stages.stage(f"gate {fault.gate} after it was reverted"):
            after = _judged(session, fault, {})
        session.screen.table(session.contract, [after])
        session.evidence.keep()
        if after.status is not Status.PASS:
            raise OperationError(f"{fault.gate} does not pass after the fault was reverted", where=name,
                                 hint="`./run rehearsal` begins anew")  # fmt: skip
    return caught


def _judged(session: Session, fault: Fault, options: Mapping[str, Any]) -> GateResult:
    """Run the fault's gate. A node that could not even measure is an answer here too: it is no PASS."""
    try:
        return gates.run(session, gates.GATES[fault.gate], options)
    except gates.Shown:
        raise
    except FeedlineError as error:
        said = Verdict(
            fault.gate, "answer", fault.nodes or "cluster", Status.INVALID, "COULD_NOT", error.what, error.hint
        )
        return GateResult(fault.gate, Status.INVALID, (said,), (said.subject,), session.now())


def _is_it(verdict: Verdict, fault: Fault) -> bool:
    words = f"{verdict.check} {verdict.message}"
    return verdict.status is Status.FAIL and verdict.reason == fault.reason and fault.mentions in words
