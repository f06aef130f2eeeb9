"""The program on a node: one verb, a JSON request in, JSON lines out. See docs/reference/node-protocol.md."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

BUNDLE = Path(__file__).resolve().parents[1]
VERBS = ("facts", "access", "ingest", "nvme", "cache", "validate", "drain", "boot")
WITH_SDK = ("access", "ingest", "drain")
"""Only these gates talk to the data plane; the rest answers without importing the Azure SDK."""

MISTAKE = "this is a mistake in Feedline: the log of this run holds the traceback"
sys.path.insert(0, str(BUNDLE))


def say(line: dict[str, Any]) -> None:
    """Write one JSON line for the operator's side."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def progress(text: str, *, done: float = 0, total: float = 0, unit: str = "") -> None:
    """Tell how far a verb has come."""
    say({"type": "progress", "text": text, "done": done, "total": total, "unit": unit})


def main(argv: list[str]) -> int:
    """Given the verb, read the request, run it, write the result or the error; return 0 once a result was written."""
    from feedline.errors import FeedlineError, OperationError

    try:
        if len(argv) != 1 or argv[0] not in VERBS:
            raise OperationError(f"verb {' '.join(argv) or 'missing'} is not one of {', '.join(VERBS)}", where="node")
        if argv[0] in WITH_SDK:
            sys.path.insert(1, str(BUNDLE / "site"))
        request = json.loads(sys.stdin.read().strip() or "{}")
        result = importlib.import_module(f"node.{argv[0]}").run(request, progress)
    except FeedlineError as error:
        return fail(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the operator gets a sentence and the log gets the rest
        traceback.print_exc()
        return fail(FeedlineError(f"{type(error).__name__}: {error}", where=f"node {argv[0]}", hint=MISTAKE))
    say({"type": "result", **result})
    return 0


def fail(error: Any) -> int:
    """Write the error line and return the exit code that goes with it."""
    say({"type": "error", **{key: getattr(error, key) for key in ("what", "where", "hint", "exit_code")}})
    return int(error.exit_code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
