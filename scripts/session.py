"""Everything one run of the runbook works with, opened once and closed at its end."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from feedline.contract import Contract
from scripts.arguments import Arguments
from scripts.evidence import Evidence
from scripts.inventory import load
from scripts.log import Log
from scripts.places import Places
from scripts.runner import Door, Runner, private_key
from scripts.screen import Screen
from scripts.state import State


@dataclass
class Session:
    """The options, the contract, the door to the nodes, and where to show and keep what they say. `max_age_s` is how
    long an answer holds, `facts` the nodes' latest facts."""

    arguments: Arguments
    contract: Contract
    door: Door
    screen: Screen
    evidence: Evidence
    state: State
    places: Places
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


def operator() -> str:
    """Return who runs this, as `user@host`, for locks and audit logs."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


@contextmanager
def opened(arguments: Arguments, places: Places | None = None) -> Iterator[Session]:
    """Given the options, yield a session for the cluster they name; its connections are closed at the end."""
    places = places or Places.of()
    contract = load(arguments)
    log = Log(places.logs / f"fab-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.log")
    runner = Runner(contract, private_key(arguments.identity), operator(), places, log)
    session = Session(
        arguments,
        contract,
        runner,
        Screen(quiet=arguments.json),
        Evidence(places.evidence(contract.cluster)),
        State(places.state(contract.cluster)),
        places,
    )
    session.evidence.note("contract.json", contract.as_dict())
    try:
        yield session
    finally:
        runner.close()
