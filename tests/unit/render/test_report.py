from feedline.render.report import NOT_REHEARSED, STANDIN, notes, rows, text
from feedline.verdict import Status, Verdict
from feedline.verdicts.cluster import GATES, GateResult, cluster_status, complete, gate_status


def verdict(check="supply", subject="gpu-0", status=Status.PASS, **more):
    return Verdict("validate", check, subject, status, more.pop("reason", "OK"), more.pop("message", "m"), **more)


def result(*verdicts, gate="validate", status=Status.PASS, nodes=("gpu-0", "gpu-1"), **more):
    return GateResult(gate, status, verdicts, nodes, 1_800_000_000.0, more.pop("seconds", 12.3), **more)


def test_the_worst_node_is_the_one_that_is_shown():
    low = verdict(subject="gpu-1", value=81.0, lower=79.0, message="81 MB/s")
    high = verdict(subject="gpu-0", value=300.0, lower=79.0, message="300 MB/s")
    lines = rows([result(high, low)], is_sandbox=True)[0].lines
    assert lines == ("2 checks held on 2 nodes", "supply: 81 MB/s (gpu-1, the worst of 2)")


def test_a_value_with_an_upper_bound_is_worst_when_it_is_high():
    near = verdict("cache device", "gpu-1", value=0.19, upper=0.2, message="0.19")
    far = verdict("cache device", "gpu-0", value=0.0, upper=0.2, message="0.00")
    assert "0.19 (gpu-1" in rows([result(far, near)], is_sandbox=True)[0].lines[1]


def test_what_blocks_is_shown_worst_first_with_its_hint_and_the_rest_is_counted():
    bad = [verdict(subject=f"gpu-{n}", status=Status.WARN, message=f"{n}") for n in range(5)]
    bad.append(verdict(subject="gpu-9", status=Status.FAIL, reason="STARVED", message="too slow", hint="do this"))
    row = rows([result(*bad, status=Status.FAIL)], is_sandbox=True)[0]
    assert row.lines[0] == "gpu-9: supply: FAIL STARVED: too slow -> do this"
    assert row.lines[-1] == "and 2 more"


def test_what_many_nodes_say_alike_is_shown_once():
    bad = [verdict(subject=f"gpu-{n}", status=Status.FAIL, reason="DOWN", message="no answer") for n in range(300)]
    lines = rows([result(*bad, status=Status.FAIL)], is_sandbox=True)[0].lines
    assert lines == ("gpu-0: supply (and 299 alike): FAIL DOWN: no answer",)


def test_simulated_things_are_named_once_and_only_in_the_sandbox():
    unmeasured = [verdict("GPUs", n, Status.NOT_MEASURED, evidence={"simulated": True}) for n in ("gpu-0", "gpu-1")]
    one = result(verdict(), *unmeasured)
    assert rows([one], is_sandbox=True)[0].lines[-1] == "NOT MEASURED (simulated): GPUs"
    assert not any("simulated" in line for line in rows([one], is_sandbox=False)[0].lines)


def test_an_earlier_answer_says_when_it_was_measured():
    assert rows([result(verdict(), fresh=False)], is_sandbox=True)[0].when == "measured at 2027-01-15T08:00:00Z"
    assert rows([result(verdict())], is_sandbox=True)[0].when == "12.3 s"


def test_silence_is_not_a_pass():
    found = complete("validate", [verdict()], ["gpu-0", "gpu-1"])
    assert [v.subject for v in found] == ["gpu-0", "gpu-1"]
    assert gate_status(found, is_sandbox=True) is Status.NOT_MEASURED
    assert gate_status([], is_sandbox=True) is Status.NOT_MEASURED
    assert cluster_status([result(verdict(), gate=gate) for gate in GATES[:-1]]) is Status.NOT_MEASURED
    assert cluster_status([result(verdict(), gate=gate) for gate in GATES]) is Status.PASS


def test_a_gate_where_everything_was_simulated_was_not_measured():
    unmeasured = [verdict(status=Status.NOT_MEASURED, evidence={"simulated": True})]
    assert gate_status(unmeasured, is_sandbox=True) is Status.NOT_MEASURED


def test_the_screen_of_a_rehearsal_names_what_it_cannot_show(sandbox_contract):
    shown = text(
        sandbox_contract, [result(verdict(), gate=gate) for gate in GATES], at=0, cache_program="2.5.6 (the stand-in)"
    )
    assert shown.startswith("Cluster small (sandbox, eastus), 1970-01-01T00:00:00Z\nSANDBOX - ")
    assert "Cluster verdict: PASS" in shown and "BlobFuse2: 2.5.6 (the stand-in)" in shown and STANDIN in shown
    assert all(item in shown for item in NOT_REHEARSED)


def test_a_real_cluster_has_no_such_notes(sandbox_contract):
    from dataclasses import replace

    assert notes(replace(sandbox_contract, cloud="AzureCloud")) == []
