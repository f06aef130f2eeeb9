"""The program on a node: one verb, one JSON request on stdin, JSON lines on stdout. See
docs/reference/node-protocol.md."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

BUNDLE = Path(__file__).resolve().parents[1]
VERBS = ("facts", "access", "ingest", "nvme", "cache", "validate", "boot")
WITH_SDK = ("access", "ingest")
"""Only these gates talk to the data plane; the rest answers without importing the Azure SDK."""

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
        text = sys.stdin.read()
        request = json.loads(text) if text.strip() else {}
        result = importlib.import_module(f"node.{argv[0]}").run(request, progress)
    except FeedlineError as error:
        say(
            {
                "type": "error",
                "what": error.what,
                "where": error.where,
                "hint": error.hint,
                "exit_code": error.exit_code,
            }
        )
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - whatever it is, the operator gets a sentence and the log gets the rest
        traceback.print_exc()
        hint = "this is a mistake in Feedline: the log of this run holds the traceback"
        say(
            {
                "type": "error",
                "what": f"{type(error).__name__}: {error}",
                "where": f"node {argv[0]}",
                "hint": hint,
                "exit_code": 1,
            }
        )
        return 1
    say({"type": "result", **result})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
