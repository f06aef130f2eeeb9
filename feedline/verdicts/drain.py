"""Whether a node can go without taking data along."""

from __future__ import annotations

from feedline.plans.drain import Drain
from feedline.verdict import Status, Verdict

SHOWN = 5


def judge(facts: Drain, node: str) -> list[Verdict]:
    """Given what the node holds now, return the verdicts. The physical host is told, and never a reason to fail."""
    found = [
        _none(
            node, "unsaved", "UNSAVED", facts.unsaved, "files are in the cache and not in the store",
            "wait for the upload; if the store refuses it, `fab access --nodes` says why",
        ),
        _none(
            node, "open", "OPEN_FILES", facts.open_files, "files are open on the mounts",
            "end the job (or its checkpoint) first: it would lose what it is writing",
        ),
    ]  # fmt: skip
    host = facts.physical_host
    status, reason = (Status.PASS, "OK") if host else (Status.NOT_MEASURED, "UNKNOWN")
    text = f"physical host {host}" if host else "the hypervisor tells no physical host"
    return [*found, Verdict("drain", "host", node, status, reason, text, evidence={"physical_host": host})]


def lost(node: str, why: str) -> Verdict:
    """Given a node that does not answer and why, return the verdict when a person has given it up."""
    hint = "whatever was in its cache and not in the store is gone"
    return Verdict("drain", "answer", node, Status.WARN, "LOST", f"{node} was given up: {why}", hint)


def same_host(before: str | None, now: str | None) -> str:
    """Given the physical host a node was on and the one it is on, return what to tell a person."""
    if before is None or now is None:
        return "physical host: not known (the hypervisor tells none)"
    if before == now:
        return f"physical host: {now}, the same as before: if it is the bad one, tell it to Azure's support"
    return f"physical host: {now} (before: {before})"


def _none(node: str, check: str, reason: str, names: tuple[str, ...], what: str, hint: str) -> Verdict:
    if not names:
        return Verdict("drain", check, node, Status.PASS, "OK", f"no {what}")
    some = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return Verdict("drain", check, node, Status.FAIL, reason, f"{len(names)} {what}: {some}", hint)
