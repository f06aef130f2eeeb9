"""The program on a node answers in JSON lines, whatever happens: one result or one error, last."""

import json
import subprocess
import sys
from pathlib import Path

MAIN = Path(__file__).parents[3] / "node" / "__main__.py"


def answer(*argv: str, request: str = "") -> tuple[int, dict[str, object], str]:
    done = subprocess.run(
        [sys.executable, "-I", str(MAIN), *argv], input=request, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_an_unknown_verb_names_the_verbs_there_are() -> None:
    rc, line, _ = answer("frobnicate")
    assert (rc, line["type"]) == (1, "error") and "facts, access, ingest" in str(line["what"])


def test_no_verb_at_all_is_told() -> None:
    assert "verb missing" in str(answer()[1]["what"])


def test_a_contract_of_another_version_is_refused_with_the_hint() -> None:
    rc, line, _ = answer("nvme", request=json.dumps({"contract": {"version": 99}, "node": "gpu-0", "apply": None}))
    assert (rc, line["exit_code"]) == (1, 1) and "version 99" in str(line["what"]) and "pulumi up" in str(line["hint"])


def test_a_mistake_of_ours_is_a_sentence_for_people_and_a_traceback_for_the_log() -> None:
    rc, line, log = answer("cache", request="{not json")
    assert rc == 1 and "JSONDecodeError" in str(line["what"]) and "Traceback" in log
