import io
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from feedline.errors import OperationError
from scripts.arguments import Arguments
from scripts.places import CHECKOUT, Places
from scripts.rehearsal import cloud, faults
from scripts.rehearsal.stages import Stages
from scripts.screen import Screen


class Recorded(Stages):
    """Stages that only note what they would have asked of the sandbox."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.asked = []

    def sandbox(self, name, *arguments, hint=""):
        self.asked.append(arguments)
        return ""


@pytest.fixture
def stages(tmp_path):
    quiet = Console(file=io.StringIO())
    return Recorded(Places(CHECKOUT, tmp_path), tmp_path, Screen(out=quiet, err=quiet))


def a_pulumi(tmp_path, monkeypatch, said, code):
    (tmp_path / "said").write_text(said)
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\ncat {tmp_path}/said\nexit {code}\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_a_program_that_fails_is_shown_by_its_last_lines_and_its_log(stages, tmp_path):
    program = [sys.executable, "-c", "for n in range(40): print('line', n)\nraise SystemExit(3)"]
    with pytest.raises(OperationError, match="exit code 3") as error:
        stages.run("thing", program, hint="look there")
    assert "line 39" in error.value.what and "line 10" not in error.value.what
    assert error.value.where.endswith("thing.log") and error.value.hint == "look there"
    assert "line 0" in next(tmp_path.glob(".feedline/logs/*/thing.log")).read_text()


def test_the_rules_that_refused_the_violating_stack_are_named(stages, tmp_path, monkeypatch):
    said = (
        "Policies:\n    - [mandatory]  storage-hns  (azure-native:storage:StorageAccount: flat)\n      is off\n"
        "    - [mandatory]  compute-no-hdd-disk  (x)\n    - [advisory]  cost-owner-tag  (y)\nerror: preview failed\n"
    )
    a_pulumi(tmp_path, monkeypatch, said, 255)
    assert cloud.refused(stages, tmp_path) == ["compute-no-hdd-disk", "storage-hns"]


@pytest.mark.parametrize(
    "said, code, text",
    [
        ("- [mandatory]  storage-hns  (x)", 0, "was not refused"),
        ("error: could not load plugin", 255, "not by a policy"),
        ("- [advisory]  cost-owner-tag  (y)\nerror: preview failed", 255, "not by a policy"),
    ],
)
def test_a_violating_stack_that_passes_or_fails_otherwise_stops_the_rehearsal(
    stages, tmp_path, monkeypatch, said, code, text
):
    a_pulumi(tmp_path, monkeypatch, said, code)
    with pytest.raises(OperationError, match=text):
        cloud.refused(stages, tmp_path)


def lost(node="ingest-0", **more):
    """The verdict that a lost blob must turn into."""
    said = {"gate": "ingest", "check": "blob count", "subject": node, "status": "FAIL", "reason": "MISSING_BLOBS"}
    return {**said, "message": "11 of 12 blobs, missing: shard-00005.bin", **more}


@pytest.fixture
def rehearse(cluster, stages, monkeypatch):
    """Rehearse the lost blob; `during` is what the gate says while it is lost."""

    def play(during):
        def active():
            return bool(stages.asked) and "--revert" not in stages.asked[-1]

        fine = cluster.door.verdict

        def verdict(verb, node):
            if verb != "ingest" or not active():
                return fine(verb, node)
            return during(node) if callable(during) else [during]

        cluster.door.verdict = verdict

        @contextmanager
        def opened(arguments):
            yield cluster.session()

        monkeypatch.setattr(faults, "opened", opened)
        return faults.rehearse("ingest-loses-blob", faults.FAULTS["ingest-loses-blob"], Arguments(), stages)

    return play


def test_a_fault_is_injected_caught_and_reverted(rehearse, stages):
    assert rehearse(lost())
    injected = ("fault", "blob-lost", "training-data", "shards-v1/shard-00005.bin")
    assert stages.asked == [injected, ("fault", "blob-lost", "--revert")]


@pytest.mark.parametrize(
    "said",
    [
        lost(status="PASS"),
        lost(status="INVALID"),
        lost(reason="OTHER"),
        lost(message="1 of 12 missing: shard-00009.bin"),
    ],
)
def test_another_verdict_reason_or_message_is_not_called_caught(rehearse, said):
    assert not rehearse(said)


def test_a_gate_that_cannot_answer_did_not_catch_the_fault_and_it_is_reverted_all_the_same(rehearse, stages):
    def fail(node):
        raise OperationError("no connection")

    assert not rehearse(fail)
    assert stages.asked[-1] == ("fault", "blob-lost", "--revert")


def test_the_sandboxs_state_is_emptied_and_its_way_in_follows_its_home(tmp_path):
    (tmp_path / "state" / ".pulumi").mkdir(parents=True)
    cloud.empty_state(tmp_path / "state")
    assert list((tmp_path / "state").iterdir()) == []
    there = cloud.environment(CHECKOUT, tmp_path)
    here = cloud.environment(CHECKOUT, CHECKOUT)
    for name in ("FEEDLINE_ARM_SOCKET", "FEEDLINE_SSH_PROXY_COMMAND"):
        assert there[name] != here[name]
    assert there["FEEDLINE_SSH_PROXY_COMMAND"].endswith("%h %p")


def test_a_program_dies_with_the_rehearsal_that_started_it(tmp_path):
    code = (
        "import sys; from pathlib import Path; from scripts.places import CHECKOUT, Places\n"
        "from scripts.rehearsal.stages import Stages; from scripts.screen import Screen\n"
        "home = Path(sys.argv[1])\n"
        "Stages(Places(CHECKOUT, home), home, Screen()).run('child', ['sh', '-c', 'echo $$ > pid; exec sleep 60'])\n"
    ).replace("echo $$ > pid", f"echo $$ > {tmp_path}/pid")
    rehearsal = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=CHECKOUT)
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    rehearsal.kill()
    rehearsal.wait()
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_second_rehearsal_waits_for_the_first_and_says_so(stages, tmp_path):
    lock = tmp_path / "lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import fcntl; f=open({str(lock)!r},'w'); fcntl.flock(f,2); print('held',flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    entered = threading.Event()

    def second():
        with stages.alone(lock):
            entered.set()

    threading.Thread(target=second, daemon=True).start()
    assert not entered.wait(0.3)
    holder.stdin.close()
    holder.stdout.close()
    holder.wait()
    assert entered.wait(5)
    assert lock.read_text() == f"{os.getpid()}\n"
