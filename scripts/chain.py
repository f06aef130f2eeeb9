"""All gates in order, and the hand-off: what still holds is shown, what does not is measured, what fails stops the
chain."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from feedline import handoff as holds
from feedline.contract import Node
from feedline.errors import OperationError
from feedline.render import report
from feedline.verdict import Status
from feedline.verdicts.cluster import GATES, GateResult, gate_status
from scripts import gate as gates
from scripts.places import write
from scripts.session import Session
from scripts.verdict_of import cache_program, finish

FIRST_BOOT_S, FIRST_BOOT_PAUSE_S = 1800.0, 5.0
"""How long cloud-init may take (drivers and packages: minutes), and the pause between two looks."""


def get_ready(session: Session, options: Mapping[str, Mapping[str, Any]], *, again: bool, max_age_s: float) -> int:
    """Given a session and the gates' options, run the chain up to the hand-off; return the exit code."""
    _whole_cluster(session)
    results: list[GateResult] = []
    for name in GATES:
        earlier = None if again or name == "doctor" else _still_holding(session, name, max_age_s)
        results.append(earlier or _run(session, name, options.get(name, {})))
        if earlier is None and name != "doctor":
            session.evidence.keep()
        if results[-1].status is not Status.PASS:
            code = finish(session, results, extra={"handed_off": False, "stopped_at": name})
            session.screen.say(f"stopped at {name}: {results[-1].status}. Nothing after it was started.", "bold red")
            return code
    return _hand_over(session, results)


def node_gates(session: Session, node: Node) -> list[GateResult]:
    """Given a session for one node, run every gate that concerns it, in order, up to the first that does not pass;
    return their results. The others are not asked: jobs may run there."""
    results: list[GateResult] = []
    for name in GATES:
        if gates.GATES[name].roles and node.role not in gates.GATES[name].roles:
            continue
        results.append(_run(session, name, {}))
        if results[-1].status is not Status.PASS:
            session.screen.say(f"stopped at {name}: {results[-1].status}. Nothing after it was started.", "bold red")
            break
    return results


def _run(session: Session, name: str, options: Mapping[str, Any]) -> GateResult:
    """Run a gate. Nodes that are still in their first boot are waited for: `pulumi up` ends before they do."""
    deadline = session.now() + FIRST_BOOT_S
    while True:
        result = gates.run(session, gates.GATES[name], options)
        booting = [node for node, facts in result.facts.items() if facts.get("cloud_init") == "running"]
        if name != "doctor" or not booting or session.now() > deadline:
            return result
        session.screen.say(f"doctor: first boot is at work on {', '.join(booting)}; asking again")
        session.sleep(FIRST_BOOT_PAUSE_S)


def hand_off(session: Session, max_age_s: float) -> int:
    """Given a session, hand off if every gate's record is a PASS that still holds; return 0, or 2 with what forbids
    it."""
    _whole_cluster(session)
    session.facts.update(gates.read_facts(session, session.contract.nodes))
    records = {name: session.state.load(name) for name in GATES}
    reasons = {name: _broken(session, name, max_age_s) for name in GATES}
    statuses = {name: _status(session, record) for name, record in records.items()}
    against = holds.blockers(records, statuses, reasons)
    results = [_from_record(session, record) for record in records.values() if record]
    if against:
        if session.arguments.json:
            finish(session, results, extra={"handed_off": False, "because": against}, keep=False)
        session.screen.say("the hand-off is refused:", "bold red")
        for line in against:
            session.screen.say(f"  - {line}")
        session.screen.say("  hint: `fab ready` measures what does not hold any more")
        return 2
    return _hand_over(session, results)


def _hand_over(session: Session, results: Sequence[GateResult]) -> int:
    """Write the bundle, unless the one of these very answers is there already."""
    records = [record for name in GATES if (record := session.state.load(name))]
    # doctor is asked on every run; what the bundle vouches for is the rest.
    basis = hashlib.sha256(
        json.dumps([r.as_dict() for r in records if r.gate != "doctor"], sort_keys=True).encode()
    ).hexdigest()
    note = session.state.folder / "handoff.json"
    last = _last_bundle(note)
    if last and last["basis"] == basis:
        path = Path(last["bundle"])
        code = finish(session, results, extra={"handed_off": True, "bundle": str(path)}, keep=False)
        session.screen.say(f"nothing to do: handed off {last['at']}: {session.places.short(path)}")
        return code
    now = session.now()
    text = report.text(session.contract, results, at=now, cache_program=cache_program(session))
    session.evidence.note("report.txt", text)
    for record in records:
        session.evidence.note(
            f"verdicts/{record.gate}.json", {"status": str(_status(session, record)), **record.as_dict()}
        )
    files = {**session.evidence.files(), "HANDOFF.md": holds.page(session.contract, text, now, records).encode()}
    if session.contract.is_sandbox:
        files["SANDBOX"] = (holds.WATERMARK + "\n").encode()
    files["MANIFEST.json"] = holds.bundle_manifest(files, session.contract, now).encode()
    mark = "SANDBOX-" if session.contract.is_sandbox else ""
    name = f"{mark}handoff-{session.state.folder.name}.tar.gz"
    data = _packed(files)
    path = session.evidence.keep() / name
    write(path, data)
    digest = hashlib.sha256(data).hexdigest()
    write(note, json.dumps({"basis": basis, "bundle": str(path), "sha256": digest, "at": holds.iso(now)}, indent=1))
    code = finish(session, results, extra={"handed_off": True, "bundle": str(path), "sha256": digest})
    session.screen.notes(session.contract, cache_program(session))
    session.screen.say(f"handed off: {session.places.short(path)} (SHA-256 {digest[:16]}…)", "bold green")
    return code


def _still_holding(session: Session, name: str, max_age_s: float) -> GateResult | None:
    """Return the gate's earlier PASS if it still holds, else None after saying why it does not."""
    record = session.state.load(name)
    why = _broken(session, name, max_age_s)
    if record is None:
        return None
    if not why and _status(session, record) is Status.PASS:
        return _from_record(session, record)
    if why:
        session.screen.say(
            f"{name}: measured again: {why[0]}" + (f" (and {len(why) - 1} more)" if len(why) > 1 else "")
        )
    return None


def _broken(session: Session, name: str, max_age_s: float) -> list[str]:
    roles = gates.GATES[name].roles
    nodes = [node.name for node in session.contract.nodes if not roles or node.role in roles]
    return holds.broken(
        session.state.load(name),
        contract=holds.contract_digest(session.contract),
        nodes=nodes,
        facts=session.facts,
        now=session.now(),
        max_age_s=max_age_s,
    )


def _status(session: Session, record: holds.Record | None) -> Status:
    return (
        Status.NOT_MEASURED if record is None else gate_status(record.verdicts, is_sandbox=session.contract.is_sandbox)
    )


def _from_record(session: Session, record: holds.Record) -> GateResult:
    return GateResult(
        record.gate,
        _status(session, record),
        record.verdicts,
        record.nodes,
        record.measured_at,
        record.seconds,
        fresh=False,
    )


def _last_bundle(note: Path) -> dict[str, str] | None:
    """Return the note of the last bundle if that very file is still there."""
    try:
        last = json.loads(note.read_text())
        return dict(last) if hashlib.sha256(Path(last["bundle"]).read_bytes()).hexdigest() == last["sha256"] else None
    except (OSError, ValueError, KeyError):
        return None


def _packed(files: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"handoff/{path}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def _whole_cluster(session: Session) -> None:
    if session.arguments.nodes or session.arguments.role:
        raise OperationError(
            "a hand-off is of the whole cluster", hint="leave out --nodes and --role; single gates take them"
        )
