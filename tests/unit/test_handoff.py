import pytest

from feedline.errors import OperationError
from feedline.handoff import Record, blockers, broken, iso, moved, ties
from feedline.verdict import Status, Verdict

FACTS = {
    "vm_id": "v",
    "boot_id": "b",
    "mounts": {"training-data": {"main_pid": 7, "config_sha256": "c", "manifest_digest": "m"}},
}
NOW = 1_800_000_000.0
PASS = Verdict("validate", "x", "gpu-0", Status.PASS, "OK", "fine")


def record(gate="validate", bound=None, **changes):
    values = {
        "gate": gate,
        "measured_at": NOW,
        "seconds": 1.0,
        "contract": "k",
        "nodes": ("gpu-0",),
        "ties": {"gpu-0": ties(FACTS) if bound is None else bound},
        "verdicts": (PASS,),
    }
    return Record(**{**values, **changes})


def why(one, facts=FACTS, now=NOW + 60, contract="k", nodes=("gpu-0",)):
    return broken(one, contract=contract, nodes=nodes, facts={"gpu-0": facts}, now=now, max_age_s=3600)


def test_ties_are_flat_and_leave_out_what_is_not_known():
    assert ties(FACTS) == {
        "vm_id": "v",
        "boot_id": "b",
        "mount training-data main_pid": "7",
        "mount training-data config_sha256": "c",
        "manifest": "m",
    }
    assert ties({"vm_id": "v", "boot_id": None, "mounts": {"a": None}}) == {"vm_id": "v"}
    assert ties({}) == {}


def test_nothing_is_broken_while_nothing_changed():
    assert why(record()) == []


@pytest.mark.parametrize(
    "facts, text",
    [
        ({**FACTS, "vm_id": "w"}, "another VM"),
        ({**FACTS, "boot_id": "w"}, "rebooted"),
        ({**FACTS, "mounts": {}}, "mounted anew"),
        (
            {**FACTS, "mounts": {"training-data": {**FACTS["mounts"]["training-data"], "config_sha256": "d"}}},
            "configuration",
        ),
        (
            {**FACTS, "mounts": {"training-data": {**FACTS["mounts"]["training-data"], "manifest_digest": "n"}}},
            "another one",
        ),
        ({}, "another VM"),
    ],
)
def test_every_tie_that_breaks_is_said(facts, text):
    assert any(text in line for line in why(record(), facts))


def test_a_mount_does_not_unsettle_the_gates_before_it():
    assert why(record("nvme"), {**FACTS, "mounts": {}}) == []


def test_what_was_not_bound_to_anything_does_not_hold():
    assert "nothing is known about its vm_id, boot_id, mount, manifest" in why(record(bound={}))[0]
    assert "mount, manifest" in why(record(bound={"vm_id": "v", "boot_id": "b"}))[0]


def test_age_contract_missing_nodes_and_a_clock_set_back_are_said():
    assert "limit is 1h 00m" in why(record(), now=NOW + 3601)[0]
    assert "future" in why(record(), now=NOW - 3600)[0]
    assert "contract changed" in why(record(), contract="other")[0]
    assert why(record(), nodes=("gpu-0", "gpu-1")) == ["gpu-1 was not measured"]
    assert why(None) == ["it was never measured"]


def test_a_record_survives_being_written_and_read():
    assert Record.from_dict(record().as_dict()) == record()


@pytest.mark.parametrize(
    "raw",
    [{}, {"gate": "x"}, {**record().as_dict(), "verdicts": [{"status": "GREAT"}]}, {**record().as_dict(), "ties": []}],
)
def test_a_damaged_record_is_refused(raw):
    with pytest.raises(OperationError, match="not the record of a gate"):
        Record.from_dict(raw)


def test_a_machine_that_moves_under_a_measurement_is_noticed():
    assert moved(FACTS, FACTS) == []
    assert moved(FACTS, {**FACTS, "boot_id": "x"}) == ["it was rebooted"]


def test_everything_that_forbids_the_hand_off_is_named():
    records = {"doctor": record("doctor"), "access": record("access"), "ingest": None}
    statuses = {"doctor": Status.PASS, "access": Status.FAIL}
    reasons = {"ingest": ["it was never measured"]}
    assert blockers(records, statuses, reasons) == ["access: FAIL", "ingest: it was never measured"]
    assert blockers({"doctor": record("doctor")}, {"doctor": Status.PASS}, {"doctor": ["gpu-0: it was rebooted"]}) == [
        "doctor: gpu-0: it was rebooted"
    ]


def test_times_are_utc():
    assert iso(NOW) == "2027-01-15T08:00:00Z"
