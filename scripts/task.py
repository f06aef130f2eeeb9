"""The frame around every task: its options, its exit code, and one message instead of a traceback."""

from __future__ import annotations

import inspect
import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from invoke import Context, Exit, Task

from feedline.errors import FeedlineError
from scripts.arguments import CHANGING, HELP, Arguments
from scripts.places import Places

INTERRUPTED = 130


def runbook(*, changes: bool, locks: bool = False, by_hand: bool = False) -> Callable[[Callable[..., int]], Task]:
    """Given a function `(arguments, **own options) -> exit code`, return the Fabric task that has the common options
    too. `changes` = it may change nodes, `locks` = it measures under the lock, `by_hand` = it has equivalent
    commands."""

    def decorate(body: Callable[..., int]) -> Task:
        own = list(inspect.signature(body).parameters.values())[1:]
        left_out = () if changes else tuple(name for name in CHANGING if not (locks and name == "break_lock"))
        left_out = left_out if by_hand else (*left_out, "commands")
        options = [f for f in fields(Arguments) if f.name not in left_out]
        common = [inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default) for f in options]

        def run(context: Context, **given: Any) -> None:
            arguments, extra = Arguments.split(given)
            code = guarded(f"fab {body.__name__}", lambda: body(arguments, **extra), as_json=arguments.json)
            if code:
                raise Exit(code=code)

        run.__name__, run.__doc__, run.__module__ = body.__name__, body.__doc__, body.__module__
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([first, *own, *common])  # type: ignore[attr-defined]
        names = {p.name.replace("_", "-") for p in (*own, *common)}
        helped = {
            (name.replace("-", "_") if name not in names else name): text
            for name, text in HELP.items()
            if name in names
        }
        return Task(run, auto_shortflags=False, help=helped)

    return decorate


def guarded(name: str, body: Callable[[], int], *, as_json: bool = False) -> int:
    """Given a task's name and its work, return its exit code; whatever goes wrong ends as one message on stderr."""
    try:
        return body()
    except FeedlineError as error:
        _say(name, str(error), as_json, {"what": error.what, "where": error.where, "hint": error.hint})
        return error.exit_code
    except KeyboardInterrupt:
        text = "interrupted. What was done stays done, nothing is half-written; run it again and it goes on from there"
        _say(name, text, as_json, {"what": text, "where": "", "hint": ""})
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost frame: a fault of ours is said in one line, its story kept
        log = Places.of().logs / f"fault-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(traceback.format_exc())
        text = (
            f"this is a fault in Feedline itself: {type(error).__name__}: {error}\n  hint: please report it with {log}"
        )
        _say(name, text, as_json, {"what": str(error), "where": type(error).__name__, "hint": f"report it with {log}"})
        return 1


def _say(name: str, text: str, as_json: bool, error: dict[str, str]) -> None:
    if as_json:
        print(json.dumps({"task": name, "error": error}, indent=2))
    print(f"{name}: {text}", file=sys.stderr)
