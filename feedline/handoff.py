"""Does an earlier verdict still hold? It is bound to the machine, the boot, the mount, its configuration and the
data it judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from feedline.contract import Contract
from feedline.errors import OperationError
from feedline.units import human_seconds
from feedline.verdict import Status, Verdict

MAX_AGE_S = 24 * 3600.0
"""A verdict older than this is measured again, even if nothing it is bound to has changed."""

_MACHINE = ("vm_id", "boot_id")
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "doctor": _MACHINE, "access": _MACHINE, "ingest": _MACHINE, "nvme": _MACHINE,
    "cache": (*_MACHINE, "mount", "manifest"), "validate": (*_MACHINE, "mount", "manifest"),
}  # fmt: skip
"""Which kinds of ties a gate must have. Without them its verdict cannot be shown to hold, so it does not."""

_WORDS = {
    "vm_id": "it is another VM",
    "boot_id": "it was rebooted",
    "manifest": "the data set it sees is another one, or none",
    "main_pid": "it was mounted anew",
    "started": "it was mounted anew",
    "config_sha256": "its mount configuration changed",
}
_MOUNT_TIES = ("main_pid", "started", "config_sha256")


@dataclass(frozen=True)
class Record:
    """A gate's last answer. `ties` maps node → what its verdicts are bound to; `contract` is the contract's digest."""

    gate: str
    measured_at: float
    seconds: float
    contract: str
    nodes: tuple[str, ...]
    ties: Mapping[str, Mapping[str, str]]
    verdicts: tuple[Verdict, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {"gate": self.gate, "measured_at": self.measured_at, "seconds": self.seconds, "contract": self.contract,
                "nodes": list(self.nodes), "ties": {node: dict(ties) for node, ties in self.ties.items()},
                "verdicts": [verdict.as_dict() for verdict in self.verdicts]}  # fmt: skip

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, where: str = "record") -> Record:
        """Given what `as_dict` returned, return the record. Raise OperationError if it is not one."""
        try:
            return cls(str(raw["gate"]), float(raw["measured_at"]), float(raw["seconds"]), str(raw["contract"]),
                       tuple(raw["nodes"]), {node: dict(ties) for node, ties in raw["ties"].items()},
                       tuple(Verdict.from_dict(v) for v in raw["verdicts"]))  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise OperationError(
                f"not the record of a gate: {error!r}", where=where, hint="delete this file; the gate is measured again"
            ) from error


def contract_digest(contract: Contract) -> str:
    """Given a contract, return a hash of all of it: after a `pulumi up` that changes it, nothing measured before
    holds."""
    return hashlib.sha256(json.dumps(contract.as_dict(), sort_keys=True).encode()).hexdigest()[:16]


def ties(facts: Mapping[str, Any]) -> dict[str, str]:
    """Given what a node says about itself (verb `facts`), return what its verdicts are bound to, as flat names and
    values.

    `{"vm_id": …, "boot_id": …, "mount training-data main_pid": …, "mount training-data config_sha256": …, "manifest":
    …}`; what the node does not know is left out.
    """
    found = {name: str(facts[name]) for name in _MACHINE if facts.get(name)}
    for mount in sorted(facts.get("mounts") or {}):
        details = facts["mounts"][mount] or {}
        found |= {f"mount {mount} {key}": str(details[key]) for key in _MOUNT_TIES if details.get(key)}
        if details.get("manifest_digest"):
            found["manifest"] = str(details["manifest_digest"])
    return found


def broken(
    record: Record | None,
    *,
    contract: str,
    nodes: Sequence[str],
    facts: Mapping[str, Mapping[str, Any]],
    now: float,
    max_age_s: float = MAX_AGE_S,
) -> list[str]:
    """Given a gate's record, the present contract's digest, the nodes it must cover, their present facts and the
    time (seconds since 1970), return why the record does not hold any more, as sentences; none when it holds."""
    if record is None:
        return ["it was never measured"]
    found: list[str] = []
    age = now - record.measured_at
    if age > max_age_s:
        found.append(f"it was measured {human_seconds(age)} ago; the limit is {human_seconds(max_age_s)}")
    if age < -60:
        found.append("it carries a time in the future: a clock was set back")
    if record.contract != contract:
        found.append("the contract changed: `pulumi up` ran since")
    for node in nodes:
        if node not in record.nodes:
            found.append(f"{node} was not measured")
        else:
            found += _broken_ties(record.gate, node, record.ties.get(node, {}), ties(facts.get(node, {})))
    return found


def _broken_ties(gate: str, node: str, then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    unknown = [kind for kind in _NEEDED.get(gate, _MACHINE) if not any(name.split()[0] == kind for name in then)]
    if unknown:
        return [f"{node}: nothing is known about its {', '.join(unknown)} when it was measured"]
    # Mounts and data matter to the gates that judged them; what an earlier gate made later does not unsettle it.
    judged = {name for name in then if name.split()[0] in _NEEDED.get(gate, _MACHINE)}
    changed = [name for name in sorted(judged) if now.get(name) != then[name]]
    return list(dict.fromkeys(f"{node}: {_WORDS.get(name.split()[-1], name + ' changed')}" for name in changed))


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Given a node's facts before and after a measurement, return which machine ties changed under it; none when all
    is well."""
    then, now = ties(before), ties(after)
    return [_WORDS[name] for name in _MACHINE if then.get(name) != now.get(name)]


def blockers(
    records: Mapping[str, Record | None], statuses: Mapping[str, Status], reasons: Mapping[str, Sequence[str]]
) -> list[str]:
    """Given each gate's record, status and broken ties, return everything that forbids the hand-off; none when it
    may happen."""
    found = []
    for gate, record in records.items():
        if reasons.get(gate):
            found.append(f"{gate}: " + "; ".join(reasons[gate][:3]))
        elif record is None or statuses.get(gate) is not Status.PASS:
            found.append(f"{gate}: {statuses.get(gate, Status.NOT_MEASURED)}")
    return found


def iso(seconds: float) -> str:
    """Given seconds since 1970, return `2026-12-01T07:03:17Z`."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bundle_manifest(files: Mapping[str, bytes], contract: Contract, created_at: float) -> str:
    """Given the bundle's files, return its manifest: every file with size and SHA-256, so that a reader can check
    it."""
    listed = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in sorted(files.items())
    ]
    head = {"version": 1, "cluster": contract.cluster, "created_at": iso(created_at), "simulated": contract.is_sandbox}
    return json.dumps({**head, "files": listed}, indent=1) + "\n"


WATERMARK = "SANDBOX - Azure was simulated; this is a rehearsal, not a cluster that anyone may train on"


def page(contract: Contract, report: str, handed_over_at: float, records: Iterable[Record]) -> str:
    """Given the contract, the report's text and the records it rests on, return the hand-off page for whoever gets
    the keys."""
    lines = [f"# Cluster {contract.cluster}: handed over {iso(handed_over_at)}", ""]
    if contract.is_sandbox:
        lines += [f"> **{WATERMARK}**", ""]
    lines += ["## How to get in", "", _way_in(contract), ""]
    lines += ["## Nodes", "", "| node | role | address | size |", "|---|---|---|---|"]
    lines += [f"| {node.name} | {node.role} | {node.address} | {node.size} |" for node in contract.nodes]
    lines += ["", "## Where the data is", "", "| mount | path | container | mode |", "|---|---|---|---|"]
    for m in contract.mounts:
        mode = f"read-{'only' if m.read_only else 'write'}, {m.mode}"
        lines.append(f"| {m.name} | {m.path} | {m.account}/{m.container} | {mode} |")
    dataset = contract.workload.dataset
    lines += ["", f"Data set `{dataset}`; its manifest is `_feedline/manifest.json` below it. Never write to it.", ""]
    lines += [
        "## What was measured",
        "",
        "```",
        report.rstrip(),
        "```",
        "",
        "Each answer holds for these machines, boots, mounts and data only:",
        "",
    ]
    lines += [f"* {record.gate}: measured {iso(record.measured_at)} on {', '.join(record.nodes)}" for record in records]
    lines += [
        "",
        "After a reboot, a new mount, a `pulumi up` or a day, run `fab ready` again before you rely on it.",
        "",
    ]
    return "\n".join(lines)


def _way_in(contract: Contract) -> str:
    user, via = contract.ssh.user, contract.ssh.via
    ways = {
        "direct": f"`ssh {user}@ADDRESS` from the network (VPN)",
        "jump": f"`ssh -J {user}@{contract.ssh.jump} {user}@ADDRESS`",
        "command": f"`ssh -o ProxyCommand='{contract.ssh.command}' {user}@ADDRESS`",
    }
    return ways.get(via, via)
