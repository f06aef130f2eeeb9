"""The cluster's lock: held on one node by a small program for as long as this operator's connection lives."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from feedline.errors import OperationError
from feedline.handoff import iso
from scripts import remote
from scripts.ssh import Link, lines_of

HEARTBEAT_S, RELEASE_S = 15.0, 10.0


@contextmanager
def held(link: Link, who: str, why: str, *, take: bool, said: Callable[[str], None]) -> Iterator[None]:
    """Given the link to the node that keeps it, hold the cluster's lock while the block runs.

    Raise OperationError naming who holds it and why, unless `take` is set.
    """
    channel = link.channel(remote.argv("lock"))
    done = threading.Event()
    try:
        channel.sendall(json.dumps({"who": who, "why": why, "since": iso(time.time()), "break": take}).encode() + b"\n")
        for line in lines_of(channel):
            answer = json.loads(line) if line.startswith("{") else {}
            if answer.get("type") == "taken":
                said(_taken(answer))
            elif answer.get("type") == "held":
                raise _refused(answer.get("holder") or {}, link.node.name)
            elif answer.get("type") == "locked":
                break
        else:
            raise OperationError(
                "the cluster's lock cannot be had there",
                where=link.node.name,
                hint="`fab doctor` says what is wrong with the node",
            )
        threading.Thread(target=_beat, args=(channel, done), daemon=True).start()
        yield
    finally:
        done.set()
        _let_go(channel)


def _let_go(channel: Any) -> None:
    """End the holder's stdin and wait until it is gone, so that the next gate finds the lock free."""
    try:
        channel.shutdown_write()
        channel.status_event.wait(RELEASE_S)
    except OSError:
        pass  # the connection is gone; the node lets the lock go by itself
    finally:
        channel.close()


def _beat(channel: Any, done: threading.Event) -> None:
    while not done.wait(HEARTBEAT_S):
        try:
            channel.sendall(b"\n")
        except OSError:
            return  # the connection is gone; the node lets the lock go by itself


def _refused(holder: dict[str, Any], node: str) -> OperationError:
    who, why, since = (holder.get(key, "unknown") for key in ("who", "why", "since"))
    return OperationError(
        f"the cluster is locked by {who} since {since}: {why}",
        where=node,
        hint="wait for it to end, or talk to them; --break-lock takes it from them",
    )


def _taken(answer: dict[str, Any]) -> str:
    holder = answer.get("holder") or {}
    state = "was broken" if answer.get("alive") else "was left by a run that is gone"
    who, why, since = (holder.get(key, "unknown") for key in ("who", "why", "since"))
    return f"the lock of {who} ({why}, {since}) {state}"
