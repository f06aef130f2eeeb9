"""Executes a plan step by step, stops at the first that fails, and notes what was changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from feedline.errors import OperationError
from feedline.names import LOG_FOLDER
from feedline.plan import Plan, Step
from node import door

AUDIT_LOG = f"{LOG_FOLDER}/audit.log"


def confirmed(request: Mapping[str, Any], plan: Plan, where: str) -> bool:
    """Given a request and the plan made just now, return whether to apply it.

    Raise OperationError when the operator confirmed another plan: the node changed in between.
    """
    digest = request.get("apply")
    if not digest:
        return False
    if digest != plan.digest:
        raise OperationError(
            "the node changed since the plan was shown; nothing was done", where=where, hint="run the task again"
        )
    return True


def apply(plan: Plan, *, verb: str, operator: str, progress: Callable[..., None]) -> list[dict[str, Any]]:
    """Given a plan, execute its steps in order and return what was done. Raise OperationError naming the step that
    failed."""
    applied: list[dict[str, Any]] = []
    for number, step in enumerate(plan.steps):
        progress(step.why, done=number, total=len(plan.steps), unit="steps")
        started = time.monotonic()
        done = _execute(step)
        command = list(step.argv) or [step.path]
        seconds = round(time.monotonic() - started, 3)
        record = {"why": step.why, "argv": command, "rc": done.rc, "seconds": seconds}
        applied.append(record)
        note(verb, operator, record)
        if not done.ok:
            said = (done.err or done.out).strip().splitlines()[-5:]
            where = f"step {number + 1} of {len(plan.steps)} failed ({step.why})"
            head = f"{where}: {' '.join(command)} ended with {done.rc}"
            raise OperationError(
                "\n  ".join([head, *said]),
                hint=f"{number} steps are done and stay; run the task again to go on from here",
            )
    return applied


def _execute(step: Step) -> door.Done:
    try:
        if step.argv:
            return door.run(step.argv, timeout_s=step.timeout_s)
        if step.content is not None:
            door.write(step.path, step.content, mode=step.mode, owner=step.owner)
        else:
            door.folder(step.path, mode=step.mode, owner=step.owner)
    except OSError as error:
        return door.Done(1, "", str(error))
    return door.Done(0, "", "")


def note(verb: str, operator: str, record: Mapping[str, Any]) -> None:
    """Append one line to the node's audit log: when, who, which task, what."""
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "operator": operator, "verb": verb, **record}
    door.folder(LOG_FOLDER)
    with open(AUDIT_LOG, "a") as log:
        log.write(json.dumps(line) + "\n")
