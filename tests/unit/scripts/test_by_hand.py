"""`--commands`: what would do the same by hand is printed, and nothing is done."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from feedline.errors import OperationError
from feedline.plan import Plan, Step
from scripts import gate as gates
from scripts import ns, verdict_of
from scripts.arguments import Arguments

CONTRACT = str(Path(__file__).parents[2] / "fixtures" / "contract-sandbox.json")
BY_HAND = {"doctor", "access", "ingest", "nvme", "cache", "validate", "ready"}


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch):
    def opened(*_):
        raise AssertionError("a session was opened")

    monkeypatch.setattr(verdict_of, "opened", opened)


def test_the_tasks_with_equivalent_commands_offer_to_print_them_and_no_other_does():
    offered = {name for name, one in ns.tasks.items() if "commands" in {a.name for a in one.get_arguments()}}
    assert offered == BY_HAND


def test_lines_are_printed_as_a_shell_reads_them_and_no_node_is_asked(capsys):
    options = {"source": "/data/shards"}
    assert verdict_of.one_gate(Arguments(contract=CONTRACT, commands=True), "ingest", options) == 0
    said = capsys.readouterr().out
    assert said.startswith("# the simulated Azure") and "\nazcopy copy /data/shards https://" in said


def test_only_the_nodes_that_were_named_are_told_of(capsys):
    verdict_of.one_gate(Arguments(contract=CONTRACT, commands=True, nodes="ingest-0"), "doctor")
    said = capsys.readouterr().out
    assert "ingest-0" in said and "gpu-0" not in said


def test_json_holds_the_same_lines(capsys):
    verdict_of.one_gate(Arguments(contract=CONTRACT, commands=True, json=True), "nvme")
    assert any(line.startswith("mdadm") for line in json.loads(capsys.readouterr().out)["commands"])


def test_a_contract_that_cannot_be_read_is_an_error_as_ever():
    with pytest.raises(OperationError, match="cannot be read"):
        verdict_of.one_gate(Arguments(contract="/nowhere", commands=True), "nvme")


def test_with_a_dry_run_the_nodes_own_plans_are_printed_and_nothing_is_done(cluster, monkeypatch, capsys):
    @contextmanager
    def opened(arguments):
        yield cluster.session(commands=True, dry_run=True)

    monkeypatch.setattr(verdict_of, "opened", opened)
    steps = (Step.run(("mkfs.xfs", "/dev/nvme0n1"), "blank"), Step.folder("/mnt/resource", "where"))
    cluster.door.plans["nvme"] = [step.as_dict() for step in Plan(steps).steps]
    assert verdict_of.one_gate(Arguments(commands=True, dry_run=True), "nvme") == 0
    assert capsys.readouterr().out.splitlines() == [
        "# as root on gpu-0, gpu-1:",
        "mkfs.xfs /dev/nvme0n1",
        "install -d -m 755 -o root -g root /mnt/resource",
    ]
    assert not any(digest for _, _, digest in cluster.door.calls) and gates.GATES["nvme"].changes
