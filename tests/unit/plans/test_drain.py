"""A node goes only when nothing would go with it."""

from dataclasses import replace

from feedline.plans.drain import Drain, plan
from feedline.tools import kvp
from feedline.verdict import Status
from feedline.verdicts.drain import judge

QUIET = Drain((), (), ("training-data", "checkpoints"), "host-17")


def test_a_quiet_nodes_mounts_are_stopped_in_order() -> None:
    steps = plan(QUIET).steps
    assert [step.argv[-1] for step in steps] == [
        "feedline-mount-training-data.service",
        "feedline-mount-checkpoints.service",
    ]


def test_nothing_is_stopped_while_a_file_is_open_or_not_in_the_store() -> None:
    for facts in (replace(QUIET, open_files=("/mnt/checkpoints/a (python, 1)",)), replace(QUIET, unsaved=("a",))):
        assert not plan(facts) and "nothing is stopped" in plan(facts).nothing_because


def test_each_thing_that_would_be_lost_is_named() -> None:
    facts = replace(QUIET, unsaved=tuple(f"checkpoints/{n}" for n in range(9)), open_files=("/mnt/x/y (dd, 2)",))
    found = {v.check: v for v in judge(facts, "gpu-0")}
    assert found["unsaved"].status is Status.FAIL and "and 4 more" in found["unsaved"].message
    assert found["open"].reason == "OPEN_FILES" and "dd, 2" in found["open"].message


def test_a_host_that_is_not_told_is_not_measured_and_no_failure() -> None:
    found = {v.check: v.status for v in judge(replace(QUIET, physical_host=None), "gpu-0")}
    assert found == {"unsaved": Status.PASS, "open": Status.PASS, "host": Status.NOT_MEASURED}


def test_the_hosts_name_is_read_from_the_hypervisors_pool() -> None:
    record = b"PhysicalHostName".ljust(512, b"\0") + b"HOST-17".ljust(2048, b"\0")
    assert kvp.parse(record + record[:100]) == {"PhysicalHostName": "HOST-17"}
