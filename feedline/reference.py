"""What each node's storage is held to while it trains: what `fab validate` last measured on this very VM."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.contract import Contract, Node
from feedline.handoff import Record, iso
from feedline.verdict import Status, Verdict


@dataclass(frozen=True)
class Reference:
    """A node's supply, measured warm and as fast as it goes: bytes/s and, where they were counted, the cache device's
    reads/s. None where nothing holds; `why` says when it was measured, or what is missing."""

    node: str
    bytes_per_s: float | None
    reads_per_s: float | None
    why: str


def references(contract: Contract, record: Record | None) -> tuple[Reference, ...]:
    """Given the contract and the last record of the gate `validate` (or None), return the reference of every node that
    mounts a data set. Only a PASS on the same VM is one: a rate that its counters do not support is no reference."""
    fed = {mount.role for mount in contract.mounts if mount.read_only}
    return tuple(_of(node, record) for node in contract.nodes if node.role in fed)


def _of(node: Node, record: Record | None) -> Reference:
    found = [] if record is None else [v for v in record.verdicts if v.check == "supply" and v.subject == node.name]
    if record is None or not found:
        return Reference(node.name, None, None, "`fab validate` has not measured it")
    if record.ties.get(node.name, {}).get("vm_id") != node.vm_id:
        return Reference(node.name, None, None, "it is another VM than the one that was measured")
    bad = next((v for v in found if v.status is not Status.PASS or v.value is None), None)
    if bad is not None:
        return Reference(node.name, None, None, f"its last supply is {bad.status} ({bad.reason})")
    # A node with several data sets is held to the slowest of them: which one a job reads is not known here.
    slowest = min(found, key=lambda verdict: verdict.value or 0.0)
    return Reference(node.name, slowest.value, _reads(slowest), f"validated {iso(record.measured_at)}")


def _reads(verdict: Verdict) -> float | None:
    counters = (verdict.evidence.get("leg") or {}).get("counters") or {}
    reads, seconds = counters.get("disk_reads"), counters.get("seconds")
    return reads / seconds if reads and seconds else None
