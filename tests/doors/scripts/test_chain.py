import json
import tarfile

import pytest

from feedline.errors import OperationError
from scripts import chain
from scripts.chain import get_ready, hand_off
from scripts.gate import GATES, Shown, run

DAY = 24 * 3600.0
STEP = {"why": "make it so", "argv": ["true"]}
WIPE = {**STEP, "destroys": "/dev/nvme0n1"}


def ready(cluster, **arguments):
    again = arguments.pop("again", False)
    session = cluster.session(**arguments)
    return get_ready(session, {"ingest": {"source": "/data"}}, again=again, max_age_s=DAY)


def test_ready_runs_every_gate_in_order_and_hands_off(cluster):
    assert ready(cluster) == 0
    gates = [verb for verb in cluster.verbs() if verb != "facts"]
    assert gates == ["access", "ingest", "nvme", "cache", "validate"]
    assert "handed off: evidence/small/" in cluster.read()
    assert cluster.door.options["ingest"]["source"] == "/data"


def test_a_second_ready_measures_nothing_and_leaves_no_new_evidence(cluster):
    ready(cluster)
    cluster.verbs()
    cluster.clock += 60
    before = sorted(cluster.places.checkout.glob("evidence/**/*"))
    assert ready(cluster) == 0
    assert cluster.verbs() == ["facts"]
    assert "nothing to do: handed off 2027-01-15T08:00:00Z" in cluster.read()
    assert "measured at 2027-01-15T08:00:00Z" in cluster.read()
    assert sorted(cluster.places.checkout.glob("evidence/**/*")) == before


def test_again_measures_everything_anew(cluster):
    ready(cluster)
    cluster.verbs()
    assert ready(cluster, again=True) == 0
    assert "validate" in cluster.verbs()


def test_a_reboot_makes_the_gates_of_that_node_run_again(cluster):
    ready(cluster)
    cluster.verbs()
    cluster.door.facts["gpu-1"]["boot_id"] = "another"
    assert ready(cluster) == 0
    assert {"access", "nvme", "cache", "validate"} <= set(cluster.verbs())
    assert "gpu-1: it was rebooted" in cluster.read()


def test_a_new_mount_makes_cache_and_validate_run_again_and_nothing_else(cluster):
    ready(cluster)
    cluster.verbs()
    cluster.door.facts["gpu-0"]["mounts"]["training-data"]["main_pid"] = 8
    assert ready(cluster) == 0
    assert set(cluster.verbs()) == {"facts", "cache", "validate"}


def test_an_answer_older_than_a_day_is_measured_again(cluster):
    ready(cluster)
    cluster.verbs()
    cluster.clock += DAY + 1
    assert ready(cluster) == 0
    assert "validate" in cluster.verbs()
    assert "the limit is 24h 00m" in cluster.read()


def test_ready_stops_at_the_first_gate_that_does_not_pass(cluster):
    bad = {
        "gate": "nvme",
        "check": "disk",
        "subject": "gpu-1",
        "status": "FAIL",
        "reason": "NO_DISK",
        "message": "none",
    }
    fine = cluster.door.verdict
    cluster.door.verdict = lambda verb, node: [bad] if (verb, node) == ("nvme", "gpu-1") else fine(verb, node)
    assert ready(cluster) == 2
    assert "cache" not in cluster.verbs()
    assert "stopped at nvme: FAIL" in cluster.read()
    assert "NO_DISK" in cluster.read()


def test_a_node_without_any_verdict_does_not_pass(cluster):
    fine = cluster.door.verdict
    cluster.door.verdict = lambda verb, node: [] if (verb, node) == ("validate", "gpu-0") else fine(verb, node)
    assert ready(cluster) == 2
    assert "NO_VERDICT" in cluster.read()


def test_a_node_that_reboots_while_it_is_measured_makes_the_measurement_invalid(cluster):
    def reboot(verb, node):
        if verb == "validate":
            cluster.door.facts[node]["boot_id"] = "another"

    cluster.door.on_call = reboot
    assert ready(cluster) == 2
    assert "MOVED" in cluster.read()


def test_simulated_things_that_were_not_measured_do_not_block_the_sandbox(cluster):
    fine = cluster.door.verdict
    unmeasured = {"check": "GPUs", "status": "NOT_MEASURED", "reason": "SIMULATED", "evidence": {"simulated": True}}
    cluster.door.verdict = lambda verb, node: [*fine(verb, node), {**fine(verb, node)[0], **unmeasured}]
    assert ready(cluster) == 0
    assert "NOT MEASURED (simulated): GPUs" in cluster.read()


def test_anything_else_that_was_not_measured_blocks(cluster):
    fine = cluster.door.verdict
    cluster.door.verdict = lambda verb, node: [*fine(verb, node), {**fine(verb, node)[0], "status": "NOT_MEASURED"}]
    assert ready(cluster) == 2


def test_in_azure_even_simulated_things_block(cluster):
    from dataclasses import replace

    cluster.contract = replace(cluster.contract, cloud="AzureCloud")
    fine = cluster.door.verdict
    unmeasured = {"status": "NOT_MEASURED", "evidence": {"simulated": True}}
    cluster.door.verdict = lambda verb, node: [*fine(verb, node), {**fine(verb, node)[0], **unmeasured}]
    assert ready(cluster) == 2


def test_the_bundle_carries_the_watermark_and_a_manifest_of_itself(cluster):
    ready(cluster)
    bundle = next(cluster.places.checkout.glob("evidence/small/*/SANDBOX-handoff-small.tar.gz"))
    with tarfile.open(bundle) as tar:
        names = set(tar.getnames())
        listed = json.load(tar.extractfile("handoff/MANIFEST.json"))
        page = tar.extractfile("handoff/HANDOFF.md").read().decode()
    assert {f"handoff/{entry['path']}" for entry in listed["files"]} | {"handoff/MANIFEST.json"} == names
    assert {
        "handoff/SANDBOX",
        "handoff/contract.json",
        "handoff/verdicts/validate.json",
        "handoff/facts/gpu-0.json",
    } <= names
    assert "SANDBOX - Azure was simulated" in page
    assert "ssh azureuser@ADDRESS" in page


def test_handoff_refuses_what_was_never_measured(cluster):
    assert hand_off(cluster.session(), DAY) == 2
    assert "validate: it was never measured" in cluster.read()


def test_handoff_accepts_what_ready_measured_and_refuses_it_after_a_reboot(cluster):
    ready(cluster)
    assert hand_off(cluster.session(), DAY) == 0
    cluster.door.facts["gpu-0"]["boot_id"] = "another"
    assert hand_off(cluster.session(), DAY) == 2
    assert "validate: gpu-0: it was rebooted" in cluster.read()


def test_handoff_is_of_the_whole_cluster(cluster):
    with pytest.raises(OperationError, match="whole cluster"):
        hand_off(cluster.session(nodes="gpu-0"), DAY)


def test_a_plan_without_terminal_and_without_yes_changes_nothing(cluster):
    cluster.door.plans["nvme"] = [STEP]
    with pytest.raises(OperationError, match="no terminal") as error:
        run(cluster.session(), GATES["nvme"])
    assert "--yes" in error.value.hint
    assert {apply for _, _, apply in cluster.door.calls} == {None}


def test_yes_carries_a_plan_out_under_the_clusters_lock(cluster):
    cluster.door.plans["nvme"] = [STEP]
    session = cluster.session(yes=True, nodes="gpu-0")
    result = run(session, GATES["nvme"])
    assert cluster.door.locked == ["ingest-0: fab nvme"]
    assert result.changed == ("changed: gpu-0: 1 steps done",)
    assert "1. make it so" in cluster.read()


def test_a_dry_run_stops_after_the_plan(cluster):
    cluster.door.plans["cache"] = [STEP]
    with pytest.raises(Shown):
        run(cluster.session(dry_run=True, yes=True), GATES["cache"])
    assert cluster.door.locked == []


@pytest.mark.parametrize("confirmed", ["", "large"])
def test_yes_alone_does_not_destroy_anything(cluster, confirmed):
    cluster.door.plans["nvme"] = [WIPE]
    with pytest.raises(OperationError, match="this destroys gpu-0: /dev/nvme0n1") as error:
        run(cluster.session(yes=True, nodes="gpu-0", confirm_cluster=confirmed), GATES["nvme"])
    assert "--confirm-cluster small" in error.value.hint


def test_the_clusters_name_confirms_what_is_destroyed(cluster):
    cluster.door.plans["nvme"] = [WIPE]
    assert run(cluster.session(nodes="gpu-0", confirm_cluster="small"), GATES["nvme"]).changed


def test_an_interrupted_change_leaves_no_earlier_pass_behind(cluster):
    ready(cluster)
    cluster.door.plans["cache"] = [STEP]
    session = cluster.session(yes=True)
    cluster.door.on_call = lambda verb, node: (
        (_ for _ in ()).throw(KeyboardInterrupt)
        if cluster.door.locked[-1:] == ["ingest-0: fab cache"] and verb == "cache"
        else None
    )
    cluster.door.locked.clear()
    with pytest.raises(KeyboardInterrupt):
        run(session, GATES["cache"])
    assert session.state.load("cache") is None
    assert hand_off(cluster.session(), DAY) == 2


def test_a_gate_on_some_nodes_never_stands_for_all(cluster):
    ready(cluster)
    bad = {"gate": "validate", "check": "x", "subject": "gpu-0", "status": "FAIL", "reason": "STARVED", "message": "m"}
    cluster.door.verdict = lambda verb, node: [bad]
    run(cluster.session(nodes="gpu-0"), GATES["validate"])
    assert cluster.session().state.load("validate") is None


def test_several_nodes_that_fail_are_named_together(cluster):
    for node in ("gpu-0", "gpu-1"):
        cluster.door.failures["cache", node] = OperationError("no space", where=node, hint="make some")
    with pytest.raises(OperationError, match="2 of 2 nodes could not answer") as error:
        run(cluster.session(), GATES["cache"])
    assert "gpu-0: no space" in str(error.value) and "gpu-1: no space" in str(error.value)


def test_json_carries_every_verdict_and_nothing_else_on_stdout(cluster, capsys):
    from scripts.verdict_of import finish

    session = cluster.session(json=True)
    assert finish(session, [run(session, GATES["validate"])]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["gates"][0]["status"] == "PASS"
    assert [v["subject"] for v in said["gates"][0]["verdicts"]] == ["gpu-0", "gpu-1"]


def test_evidence_holds_contract_facts_plans_measurements_and_verdicts(cluster):
    ready(cluster)
    folder = next(cluster.places.checkout.glob("evidence/small/*"))
    names = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
    assert {
        "contract.json",
        "facts/gpu-0.json",
        "plans/nvme-gpu-0.json",
        "measurements/validate-gpu-1.json",
        "verdicts/access.json",
        "report.txt",
    } <= names


def test_ready_waits_for_the_first_boot_and_not_for_ever(cluster, monkeypatch):
    monkeypatch.setattr(chain, "FIRST_BOOT_PAUSE_S", 500.0)
    booting = {
        "gate": "doctor",
        "check": "cloud-init",
        "status": "FAIL",
        "reason": "FIRST_BOOT_INCOMPLETE",
        "message": "m",
    }
    fine = cluster.door.verdict
    cluster.door.facts["gpu-0"]["cloud_init"] = "running"
    cluster.door.verdict = lambda verb, node: (
        [{**booting, "subject": node}]
        if verb == "facts" and cluster.door.facts[node].get("cloud_init") == "running"
        else fine(verb, node)
    )
    assert ready(cluster) == 2
    assert "stopped at doctor" in cluster.read()
    assert cluster.clock > 1_800_000_000 + 1800
    cluster.on_sleep = lambda: cluster.door.facts["gpu-0"].update(cloud_init="done")
    assert ready(cluster) == 0
    assert "first boot is at work on gpu-0" in cluster.read()


def test_ctrl_c_does_not_wait_for_the_nodes(cluster):
    import os
    import signal
    import threading

    ended = threading.Event()
    cluster.door.on_call = lambda verb, node: ended.wait(600)  # longer than a test may take
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(cluster.session(parallel=4), GATES["access"])
    ended.set()
