import json

import pytest
from invoke import Context, Exit

from feedline.contract import Contract
from feedline.handoff import Record
from feedline.verdict import Status, Verdict
from scripts.places import Places
from scripts.state import State
from scripts.watch import watch
from tests.shared.small_cluster import CONTRACT

FILES = {"rules.yaml", "scrape.yaml", "dashboard.json"}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run `fab watch` on the small cluster, with a measured gpu-0."""
    monkeypatch.setenv("FEEDLINE_HOME", str(tmp_path))
    (tmp_path / "c.json").write_text(json.dumps(CONTRACT))
    leg = {"leg": {"counters": {"seconds": 2.0, "disk_reads": 10_000}}}
    supply = Verdict("validate", "supply", "gpu-0", Status.PASS, "OK", "m", value=5e9, evidence=leg)
    ties = {"gpu-0": {"vm_id": "vm-gpu-0"}}
    State(Places.of().state("small")).save(Record("validate", 1e9, 1.0, "d", ("gpu-0",), ties, (supply,)))
    return lambda **options: watch.body(Context(), contract=str(tmp_path / "c.json"), **options)


def test_three_files_are_written_and_who_was_not_measured_is_named(asked, tmp_path, capsys):
    asked(to=str(tmp_path / "new" / "folder"))
    said = capsys.readouterr().out
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == FILES
    assert "gpu-0: 5.00 GB/s at 5,000 reads/s, validated 2001-09-09" in said
    assert "gpu-1: NOT MEASURED" in said and "uses the required 792 B/s instead" in said
    assert "SANDBOX" in said
    rules = json.loads((tmp_path / "new" / "folder" / "rules.yaml").read_text())
    sources = {
        r["labels"]["node"]: r["labels"].get("source") for r in rules["groups"][0]["rules"] if "source" in r["labels"]
    }
    assert sources == {"gpu-0": "validated", "gpu-1": "required"}


def test_the_same_measurements_give_the_same_bytes(asked, tmp_path):
    for name in ("a", "b"):
        asked(to=str(tmp_path / name))
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_json_says_the_same(asked, tmp_path, capsys):
    asked(to=str(tmp_path / "a"), json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["simulated"], said["nodes"]["gpu-1"]["status"]) == (True, "NOT_MEASURED")
    assert said["nodes"]["gpu-0"]["reference_reads_per_s"] == 5000


def test_a_scale_set_and_nodes_without_dcgm_are_named(asked, tmp_path, capsys):
    sets = [{"name": "gpu", "resource_id": "/subscriptions/s/resourceGroups/rg/providers/M/v/vmss", "role": "train",
             "identity": "train", "size": "Standard_ND96isr_H100_v5", "prefix": "gpu"}]  # fmt: skip
    nodes = [{**n, "size": "Standard_ND96isr_MI300X_v5"} for n in CONTRACT["nodes"]]
    changed = {**CONTRACT, "nodes": nodes, "scale_sets": sets}
    (tmp_path / "c.json").write_text(json.dumps(changed))
    assert Contract.parse(changed)
    asked(to=str(tmp_path / "a"))
    said = capsys.readouterr().out
    assert "instances of scale set gpu: NOT MEASURED" in said and "gpu-0, gpu-1: no GPU metrics" in said


@pytest.mark.parametrize("to, why", [("", "give --to DIR"), ("c.json", "cannot be written")])
def test_a_folder_that_cannot_be_is_one_message(asked, tmp_path, capsys, to, why):
    with pytest.raises(Exit) as ended:
        asked(to=str(tmp_path / to) if to else "")
    assert ended.value.code == 1 and why in capsys.readouterr().err
