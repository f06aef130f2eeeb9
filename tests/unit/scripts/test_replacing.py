"""`cluster.replace` and `cluster.teardown`: nothing ends while something would be lost, or without a yes by name."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from feedline.errors import OperationError
from scripts import hostkeys, replacing, verdict_of
from scripts.arguments import Arguments
from tests.shared.small_cluster import GATE, passing

STOP = {"why": "unmount", "argv": ["systemctl", "stop", "x"]}
YES = {"stack": "prod", "yes": True, "confirm_cluster": "small"}


def drained(node, *, unsaved=False, host="host-17"):
    check = {"gate": "drain", "check": "unsaved", "subject": node, "message": "m"}
    return [
        {**check, "status": "FAIL", "reason": "UNSAVED"} if unsaved else {**check, "status": "PASS", "reason": "OK"},
        {**check, "check": "host", "status": "PASS", "reason": "OK", "evidence": {"physical_host": host}},
    ]


@pytest.fixture
def world(cluster, monkeypatch):
    """The small cluster; what Pulumi and ARM were told is in `done`. A node asked after Pulumi has another VM id."""
    cluster.done = []

    @contextmanager
    def opened(arguments):
        yield cluster.session(**{name: getattr(arguments, name) for name in Arguments.__dataclass_fields__})

    class Cloud:
        @classmethod
        def of(cls, contract):
            return cls()

        def get(self, rid):
            return {"id": rid}

        def change(self, method, rid, body=None):
            cluster.done.append(f"{method} {rid}")

    def pulumi(argv):
        cluster.done.append(" ".join(argv))

    cluster.unsaved = lambda: False
    cluster.door.verdict = lambda verb, node: (
        drained(node, unsaved=cluster.unsaved()) if verb == "drain" else [passing(GATE[verb], node)]
    )
    cluster.door.plans["drain"] = [STOP]
    monkeypatch.setattr(verdict_of, "opened", opened)
    monkeypatch.setattr(replacing, "_pulumi", pulumi)
    monkeypatch.setattr(replacing, "Arm", Cloud)
    return cluster


def ended(end):
    if end == "all":
        return replacing.all_of_it(Arguments(**YES), give_up=False)
    return replacing.one(Arguments(**YES, nodes="gpu-1"), give_up=False)


def applied(world):
    return [node for node, verb, digest in world.door.calls if verb == "drain" and digest]


def test_a_node_is_drained_replaced_and_measured_and_no_other_node_is_asked(world):
    assert replacing.one(Arguments(**YES, nodes="gpu-1"), give_up=False) == 0
    assert len(world.done) == 1 and "--target-replace" in world.done[0] and world.done[0].count("::gpu-1") == 1
    assert applied(world) == ["gpu-1"] and {node for node, _, _ in world.door.calls} == {"gpu-1"}
    verbs = [verb for verb in world.verbs() if verb != "facts"]
    assert verbs == ["drain", "access", "nvme", "cache", "validate", "drain"]
    (left,) = world.places.evidence("small").glob("*/replaced/gpu-1.json")
    assert json.loads(left.read_text()) == {"node": "gpu-1", "vm_id": "vm-gpu-1", "physical_host": "host-17"}
    assert "host-17, the same as before" in world.read()


@pytest.mark.parametrize("end", ["one", "all"])
def test_files_that_only_a_node_has_refuse_before_anything_is_asked_or_stopped(world, end):
    world.unsaved = lambda: True
    code = ended(end)
    assert code == 2 and world.done == [] and applied(world) == []


@pytest.mark.parametrize("end", ["one", "all"])
def test_files_that_show_up_while_the_mounts_stop_still_refuse(world, end):
    # A job wrote between the first look and the unmount: nothing may be destroyed then.
    world.unsaved = lambda: bool(applied(world))
    code = ended(end)
    assert code == 2 and applied(world) and world.done == []


def test_yes_alone_destroys_nothing_and_stops_no_mount(world):
    with pytest.raises(OperationError, match="this destroys") as error:
        replacing.all_of_it(Arguments(stack="prod", yes=True), give_up=False)
    assert "--confirm-cluster small" in error.value.hint and applied(world) == [] and world.done == []


def test_a_dry_run_shows_both_the_unmounts_and_the_end(world):
    assert replacing.one(Arguments(stack="prod", nodes="gpu-1", dry_run=True), give_up=False) == 0
    assert "unmount" in world.read() and "DESTROYS gpu-1" in world.read() and world.done == []


def test_an_instance_is_moved_and_reimaged_and_met_anew(world):
    rid = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/g/virtualMachines/1"
    nodes = tuple(replace(node, resource_id=rid) if node.name == "gpu-1" else node for node in world.contract.nodes)
    world.contract = replace(world.contract, nodes=nodes)
    known = world.places.known_hosts("small")
    known.parent.mkdir(parents=True)
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0iV1vuuKO8Zx2lYkdVJUDcxcsRRp9U7EWu3vBdGkQp"
    known.write_text(f"vm-gpu-0 {key}\nvm-gpu-1 {key}\n")
    assert replacing.one(Arguments(**YES, nodes="gpu-1"), give_up=False) == 0
    assert world.done == [f"POST {rid}/redeploy", f"POST {rid}/reimage"]
    # A reimaged instance keeps its VM id and has another host key: it must not be taken for an impostor.
    assert not hostkeys.known(known, "vm-gpu-1") and hostkeys.known(known, "vm-gpu-0")


def test_a_dead_node_is_only_given_up_when_somebody_says_so(world):
    world.door.failures["drain", "gpu-1"] = OperationError("no answer", where="gpu-1", hint="is it up?")
    with pytest.raises(OperationError, match="no answer") as error:
        replacing.one(Arguments(**YES, nodes="gpu-1"), give_up=False)
    assert "--lost" in error.value.hint and world.done == []
    assert replacing.all_of_it(Arguments(**YES), give_up=True) == 0
    assert applied(world) == ["gpu-0"] and "gpu-1: no answer: given up" in world.read() and len(world.done) == 1


def test_a_gate_that_fails_on_the_new_machine_stops_there(world):
    world.door.verdict = lambda verb, node: (
        drained(node)
        if verb == "drain"
        else [{**passing(GATE[verb], node), "status": "FAIL" if verb == "nvme" else "PASS"}]
    )
    assert replacing.one(Arguments(**YES, nodes="gpu-1"), give_up=False) == 2
    assert "stopped at nvme" in world.read() and "cache" not in world.verbs()


def test_a_teardown_tells_which_accounts_are_still_there(world, capsys):
    assert replacing.all_of_it(Arguments(**YES, json=True), give_up=False) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["destroyed"], said["kept"]) == ("small", ["lake"]) and "--exclude-protected" in world.done[0]


def test_a_part_of_a_cluster_is_not_torn_down(world):
    with pytest.raises(OperationError, match="as a whole"):
        replacing.all_of_it(Arguments(**YES, nodes="gpu-1"), give_up=False)


def test_a_parked_cluster_has_nobody_to_ask(world):
    world.contract = replace(world.contract, nodes=world.contract.nodes[:1])
    assert replacing.all_of_it(Arguments(**YES), give_up=False) == 0 and world.door.calls == []


def test_one_node_is_replaced_at_a_time(world):
    with pytest.raises(OperationError, match="2 nodes are named"):
        replacing.one(Arguments(**YES, nodes="gpu-*"), give_up=False)
