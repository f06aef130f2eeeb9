"""Verb `access`: ask the data plane, as this node's identity, everything the contract promises and everything it
forbids."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from feedline.contract import Contract
from feedline.plans.access import PROBE_FOLDER, Probe, probes
from feedline.verdict import Verdict
from feedline.verdicts.access import Attempt, judge, settled

DEADLINE_S = 300.0
"""How long a refusal may still be propagation. Azure documents up to ten minutes for data-plane roles; most take
one."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Given a request of the node protocol, ask every probe of this node's identity and return the verdicts. Changes
    nothing but one small probe blob a node. `options.deadline_s` bounds the wait for propagation."""
    from node.blob import Store

    contract = Contract.parse(request["contract"])
    node = contract.node(request["node"])
    identity = contract.identity(node.identity)
    deadline = time.monotonic() + float(request.get("options", {}).get("deadline_s", DEADLINE_S))
    stores: dict[tuple[str, str], Store] = {}
    verdicts: list[Verdict] = []
    questions = probes(contract, identity)
    for done, probe in enumerate(questions):
        progress(f"asking: {probe.title}", done=done, total=len(questions), unit="probes")
        key = (probe.account, probe.container)
        if key not in stores:
            stores[key] = Store(contract.account(probe.account).blob_endpoint, probe.container, identity.client_id)
        attempts = _ask(stores[key], probe, f"{PROBE_FOLDER}/{node.name}", deadline)
        verdicts.append(judge(probe, attempts, node.name))
    return {
        "facts": {"identity": identity.name, "probes": len(questions)},
        "plan": None,
        "applied": [],
        "changed": False,
        "verdicts": [verdict.as_dict() for verdict in verdicts],
        "measurements": {},
    }


def _ask(store: Any, probe: Probe, blob: str, deadline: float) -> list[Attempt]:
    """Ask until the answer is settled or the deadline is over; the pause grows only while propagation is what we wait
    for."""
    attempts: list[Attempt] = []
    pause = FIRST_PAUSE_S
    while True:
        attempts.append(store.attempt(probe.operation, blob))
        # The deadline bounds the wait for propagation, not the few repetitions that settle an answer as promised.
        as_promised = attempts[-1].kind == "ok" if probe.allowed else attempts[-1].refused
        if settled(probe, attempts) or (time.monotonic() >= deadline and not as_promised):
            return attempts
        if attempts[-1].kind != "ok" and not (attempts[-1].refused and not probe.allowed):
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 1.6, LONGEST_PAUSE_S)
