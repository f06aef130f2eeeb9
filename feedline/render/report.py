"""The one screen: each gate, its numbers, its verdict, what was simulated and what a rehearsal cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedline.contract import Contract
from feedline.handoff import WATERMARK, iso
from feedline.units import human_seconds
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GateResult, cluster_status

KEY_CHECKS = {
    "ingest": ("blob count", "bytes", "content read back"),
    "validate": ("NVMe-warm feed", "supply", "warm bytes from NVMe", "cold read", "cache device"),
}
"""The checks whose own sentence is shown when a gate passes; the other gates say how many checks held."""

SHOWN = 4
NOT_REHEARSED = (
    "RAID0 over several NVMe disks (this kernel has no md: one disk a node)",
    "cloud-init's Azure datasource (NoCloud was used, with the same customData)",
    "InfiniBand and GPUDirect (no such hardware)",
    "GPUs and their drivers (nvidia-smi is a stand-in fed by the emulated accelerators)",
    "the HNS `dfs` protocol (the store speaks `blob` only)",
    "server-side copy from other clouds or accounts",
    "Azure's capacity, quota and service limits",
    "NTP (the nodes share this machine's clock)",
)
STANDIN = "BlobFuse2 itself (its stand-in ran; FEEDLINE_BLOBFUSE2=/path names the real program)"
SIMULATED = (
    "Azure Resource Manager, RBAC decisions and their delay, managed identities and IMDS tokens",
    "the storage service (Azurite behind an authorizer), private endpoints and their DNS",
    "VM hardware: rates of NIC, OS disk and NVMe are emulated",
)


@dataclass(frozen=True)
class Row:
    """One gate on the screen: its name, its status, its numbers line by line, and when or how fast it was measured."""

    gate: str
    status: Status
    lines: tuple[str, ...]
    when: str


def rows(results: Sequence[GateResult], *, is_sandbox: bool) -> list[Row]:
    """Given the gates' results, return one row for each."""
    return [Row(r.gate, r.status, tuple(_lines(r, is_sandbox)), _when(r)) for r in results]


def text(contract: Contract, results: Sequence[GateResult], *, at: float, cache_program: str = "") -> str:
    """Given a contract, its results and the time (seconds since 1970), return the whole screen as plain text."""
    lines = [f"Cluster {contract.cluster} ({contract.environment}, {contract.location}), {iso(at)}"]
    if contract.is_sandbox:
        lines.append(WATERMARK)
    lines.append("")
    for row in rows(results, is_sandbox=contract.is_sandbox):
        first, *rest = row.lines or ("",)
        lines.append(f"{row.gate:<9} {row.status:<12} {first}  [{row.when}]")
        lines += [f"{'':<22} {line}" for line in rest]
    lines += ["", f"Cluster verdict: {cluster_status(results)}", *_notes(contract, cache_program)]
    return "\n".join(lines) + "\n"


def notes(contract: Contract, cache_program: str = "") -> list[tuple[str, tuple[str, ...]]]:
    """Given a contract and the program that cached (as the nodes report it), return what a reader must know besides
    the numbers."""
    if not contract.is_sandbox:
        return []
    simulated = (*SIMULATED, f"BlobFuse2: {cache_program}") if cache_program else SIMULATED
    real = () if "stand-in" not in cache_program else (STANDIN,)
    return [("SIMULATED", simulated), ("NOT REHEARSED", (*real, *NOT_REHEARSED))]


def _notes(contract: Contract, cache_program: str) -> list[str]:
    found: list[str] = []
    for title, items in notes(contract, cache_program):
        found += ["", f"{title}:", *(f"  - {item}" for item in items)]
    return found


def _lines(result: GateResult, is_sandbox: bool) -> list[str]:
    alike: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in result.blocking:
        alike.setdefault((verdict.status, verdict.reason, verdict.message), []).append(verdict)
    lines = [_sentence(same[0], len(same) - 1) for same in list(alike.values())[:SHOWN]]
    if len(alike) > SHOWN:
        lines.append(f"and {len(alike) - SHOWN} more")
    if not lines:
        lines = [_counted(result), *_key_sentences(result)]
    if is_sandbox and result.not_measured:
        checks = list(dict.fromkeys(v.check for v in result.not_measured))
        lines.append(f"NOT MEASURED (simulated): {', '.join(checks)}")
    return [*lines, *result.changed]


def _counted(result: GateResult) -> str:
    passed = sum(v.status is Status.PASS for v in result.verdicts)
    nodes = len(result.nodes)
    return f"{passed} {'check' if passed == 1 else 'checks'} held on {nodes} {'node' if nodes == 1 else 'nodes'}"


def _key_sentences(result: GateResult) -> list[str]:
    found = []
    for check in KEY_CHECKS.get(result.gate, ()):
        same = [v for v in result.verdicts if v.check == check]
        if same:
            worst = min(same, key=_margin)
            found.append(
                f"{check}: {worst.message}" + (f" ({worst.subject}, the worst of {len(same)})" if len(same) > 1 else "")
            )
    return found


def _margin(verdict: Verdict) -> float:
    """How far a value is from its bound, as a share of the bound: the smallest is the worst node."""
    if verdict.value is None:
        return 0.0
    bound = verdict.lower if verdict.lower is not None else verdict.upper
    distance = (
        verdict.value - (verdict.lower or 0.0) if verdict.lower is not None else (verdict.upper or 0.0) - verdict.value
    )
    return distance / abs(bound) if bound else distance


def _sentence(verdict: Verdict, others: int) -> str:
    hint = f" -> {verdict.hint}" if verdict.hint else ""
    head = f"{verdict.subject}: {verdict.check}" + (f" (and {others} alike)" if others else "")
    return f"{head}: {verdict.status} {verdict.reason}: {verdict.message}{hint}"


def _when(result: GateResult) -> str:
    return human_seconds(result.seconds) if result.fresh else f"measured at {iso(result.measured_at)}"
