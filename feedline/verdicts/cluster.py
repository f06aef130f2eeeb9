"""A gate is as good as its worst check on its worst node, and a cluster as good as its worst gate. Silence is not a
pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from feedline.verdict import Status, Verdict, worst

GATES = ("doctor", "access", "ingest", "nvme", "cache", "validate")
"""Every gate before the hand-off, in the order in which data flows."""


@dataclass(frozen=True)
class GateResult:
    """What one gate said about its nodes. `measured_at` is seconds since 1970 (UTC), `seconds` how long it took,
    `fresh` whether it was measured now (else an earlier answer that still holds), `changed` what was done to the
    nodes, as sentences.
    """

    gate: str
    status: Status
    verdicts: tuple[Verdict, ...]
    nodes: tuple[str, ...]
    measured_at: float
    seconds: float = 0.0
    fresh: bool = True
    changed: tuple[str, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def blocking(self) -> tuple[Verdict, ...]:
        """The verdicts that keep the gate shut, worst first."""
        bad = [v for v in self.verdicts if v.status is not Status.PASS and not simulated(v)]
        return tuple(sorted(bad, key=lambda v: list(Status).index(v.status), reverse=True))

    @property
    def not_measured(self) -> tuple[Verdict, ...]:
        """What could not be measured because Azure's hardware or services are simulated."""
        return tuple(v for v in self.verdicts if simulated(v))


def simulated(verdict: Verdict) -> bool:
    """Given a verdict, return whether it was left unmeasured because what it judges is simulated here."""
    return verdict.status is Status.NOT_MEASURED and verdict.evidence.get("simulated") is True


def complete(gate: str, verdicts: Iterable[Verdict], nodes: Sequence[str]) -> tuple[Verdict, ...]:
    """Given a gate's verdicts by node (`nodes` were asked), return them with one more for each node that said
    nothing."""
    found = tuple(verdicts)
    said = {verdict.subject for verdict in found}
    silent = [
        Verdict(gate, "answer", node, Status.NOT_MEASURED, "NO_VERDICT", f"{node} answered without a verdict",
                f"run `fab {gate} --nodes {node}` and read its progress")
        for node in nodes if node not in said
    ]  # fmt: skip
    return (*found, *silent)


def gate_status(verdicts: Iterable[Verdict], *, is_sandbox: bool) -> Status:
    """Given all verdicts of a gate, return its status: the worst of them.

    In the sandbox a verdict that was left unmeasured because its subject is simulated does not count; anything else
    that was not measured does, and if nothing at all was measured the gate is NOT_MEASURED.
    """
    return worst(v.status for v in verdicts if not (is_sandbox and simulated(v)))


def cluster_status(results: Sequence[GateResult], gates: Sequence[str] = GATES) -> Status:
    """Given the gates' results, return the cluster's status. A gate that is missing was not measured."""
    by_name = {result.gate: result.status for result in results}
    return worst(by_name.get(gate, Status.NOT_MEASURED) for gate in gates)
