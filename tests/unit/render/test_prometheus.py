"""Rules and scrape configuration. `METRICS` are the exporters' own; nothing else may be named in an expression."""

import json
import re
from dataclasses import replace

import pytest

from feedline.contract import Contract, ScaleSet
from feedline.handoff import Record
from feedline.names import RESOURCE_DISK, mount_unit
from feedline.reference import Reference, references
from feedline.render.prometheus import has_dcgm, rules, scrape
from feedline.verdict import Status, Verdict
from tests.shared.small_cluster import CONTRACT

NODE_EXPORTER = "prometheus/node_exporter collector/fixtures/e2e-output.txt (v1.8): "
DCGM = "NVIDIA/dcgm-exporter etc/default-counters.csv: on by default"
METRICS = {
    "up": "Prometheus: one a target",
    "node_disk_read_bytes_total": NODE_EXPORTER + "diskstats",
    "node_disk_reads_completed_total": NODE_EXPORTER + "diskstats",
    "node_filesystem_avail_bytes": NODE_EXPORTER + "filesystem",
    "node_filesystem_size_bytes": NODE_EXPORTER + "filesystem",
    "node_filesystem_readonly": NODE_EXPORTER + "filesystem",
    "node_filesystem_device_error": NODE_EXPORTER + "filesystem",
    "node_network_receive_bytes_total": NODE_EXPORTER + "netdev",
    "node_systemd_unit_state": "prometheus/node_exporter collector/systemd_linux.go: needs --collector.systemd",
    "DCGM_FI_DEV_GPU_UTIL": DCGM,
    "DCGM_FI_DEV_FB_USED": DCGM,
    "DCGM_FI_DEV_XID_ERRORS": DCGM,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": DCGM,
}
SET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/vmss-small-gpu"
GPUS = ScaleSet("gpu", SET, "train", "train", "Standard_ND96isr_H100_v5", "gpu")


def contract(**changes):
    return replace(Contract.parse(CONTRACT), **changes)


def supply(node="gpu-0", status=Status.PASS, value=5e9, reads=10_000):
    counters = {"seconds": 2.0, "disk_reads": reads}
    return Verdict("validate", "supply", node, status, "R", "m", value=value, evidence={"leg": {"counters": counters}})


def record(*verdicts, vm_id="vm-gpu-0"):
    return Record("validate", 1e9, 1.0, "d", ("gpu-0",), {"gpu-0": {"vm_id": vm_id}}, verdicts)


def found(content, name):
    """Every rule of this name in a rule file."""
    return [r for g in content["groups"] for r in g["rules"] if name in (r.get("alert"), r.get("record"))]


def series(expression):
    """Every name in an expression that is followed by matchers."""
    return set(re.findall(r"([A-Za-z_:][\w:]*)\{", expression))


def test_every_metric_is_one_that_an_exporter_documents_or_a_rule_records():
    content = rules(contract(scale_sets=(GPUS,)), references(contract(), record(supply())))
    every = [r for g in content["groups"] for r in g["rules"]]
    recorded = {r["record"] for r in every if "record" in r}
    used = set().union(*(series(r["expr"]) for r in every))
    assert used - recorded - METRICS.keys() == set(), "no exporter has these"
    assert METRICS.keys() - used == set(), "these are not used any more"
    assert {name for name in used if name.startswith("feedline:")} == recorded, (
        "nothing is recorded that no alert reads"
    )


def test_the_thresholds_follow_the_reference():
    for value, reads in ((5e9, 10_000), (7e9, 30_000)):
        content = rules(contract(), references(contract(), record(supply(value=value, reads=reads))))
        rates = {r["labels"]["node"]: r for r in found(content, "feedline:reference_read_bytes")}
        assert (rates["gpu-0"]["expr"], rates["gpu-0"]["labels"]["source"]) == (f"vector({value:.0f})", "validated")
        (counted,) = found(content, "feedline:reference_reads")
        assert (counted["expr"], counted["labels"]["node"]) == (f"vector({reads / 2:.0f})", "gpu-0")


def test_a_node_without_reference_is_held_to_the_required_rate_and_its_rule_says_so():
    content = rules(contract(), references(contract(), record(supply())))
    (rule,) = [r for r in found(content, "feedline:reference_read_bytes") if r["labels"]["node"] == "gpu-1"]
    assert (rule["expr"], rule["labels"]["source"]) == ("vector(792)", "required")
    (alert,) = found(content, "FeedlineReadRateBelowReference")
    assert "{{ $labels.source }}" in alert["annotations"]["description"]


@pytest.mark.parametrize(
    "given, why",
    [
        (None, "has not measured it"),
        (record(supply("gpu-1")), "has not measured it"),
        (record(supply(), vm_id="another"), "another VM"),
        (record(supply(status=Status.INVALID)), "INVALID (R)"),
        (record(supply(status=Status.FAIL)), "FAIL (R)"),
        (record(supply(), supply(status=Status.INVALID)), "INVALID (R)"),
    ],
)
def test_only_a_pass_on_the_same_vm_is_a_reference(given, why):
    first = references(contract(), given)[0]
    assert (first.node, first.bytes_per_s, first.reads_per_s) == ("gpu-0", None, None) and why in first.why


def test_of_several_data_sets_the_slowest_counts_and_old_records_have_no_reads():
    first = references(contract(), record(supply(value=9e9), supply(value=4e9, reads=None)))[0]
    assert first == Reference("gpu-0", 4e9, None, "validated 2001-09-09T01:46:40Z")


def test_a_node_that_mounts_no_data_set_has_no_reference():
    assert [r.node for r in references(contract(), None)] == ["gpu-0", "gpu-1"]


def test_every_alert_says_what_where_and_which_task():
    for alert in (r for r in rules(contract(), ())["groups"][-1]["rules"]):
        assert alert["annotations"]["summary"].startswith("SANDBOX: {{ $labels.node }}: ")
        assert alert["labels"]["severity"] in ("critical", "warning") and alert["labels"]["simulated"] == "true"
        assert re.fullmatch(r"\d+m", alert["for"])
        said = alert["annotations"]["description"]
        assert "fab " in said or "Azure" in said


def test_a_rule_as_it_is_written():
    (rule,) = found(rules(contract(cloud="public", environment="prod"), ()), "FeedlineCacheDiskMissing")
    assert rule == {
        "alert": "FeedlineCacheDiskMissing",
        "expr": '(up{cluster="small", job="feedline-node", role="train"} == 1) unless on (cluster, node) '
        'node_filesystem_avail_bytes{cluster="small", mountpoint="/mnt/resource"}',
        "for": "5m",
        "labels": {"cluster": "small", "environment": "prod", "severity": "critical"},
        "annotations": {
            "summary": "{{ $labels.node }}: nothing is mounted at /mnt/resource",
            "description": "Local NVMe comes back empty after a deallocation: fab nvme --nodes {{ $labels.node }}, "
            "then fab cache.",
            "runbook": "docs/runbooks/watch.md",
        },
    }


def test_an_alert_compares_only_while_gpus_wait():
    content = rules(contract(), ())
    for name in ("ReadRateBelowReference", "ReadIopsBelowReference", "FedFromLake", "GpuStarved"):
        (rule,) = found(content, f"Feedline{name}")
        assert "feedline:allocated_gpu_util:avg5m" in rule["expr"] and "< 50" in rule["expr"]


def test_every_mount_has_its_unit_watched():
    content = json.dumps(rules(contract(), ()))
    assert mount_unit("training-data") in content and "/mnt/training-data" in content and RESOURCE_DISK in content


def test_a_clusters_odd_name_stays_inside_its_quotes():
    (rule,) = found(rules(contract(cluster='a"} or vector(1) #'), ()), "FeedlineGpuXid")
    assert rule["expr"] == 'DCGM_FI_DEV_XID_ERRORS{cluster="a\\"} or vector(1) #"} > 0'


def test_every_node_is_scraped_and_gpus_only_where_dcgm_exporter_runs():
    node, gpu = scrape(contract())["scrape_configs"]
    assert [s["targets"] for s in node["static_configs"]] == [["10.0.0.4:9100"], ["10.0.1.4:9100"], ["10.0.1.5:9100"]]
    assert [s["labels"]["node"] for s in gpu["static_configs"]] == ["gpu-0", "gpu-1"]
    assert "azure_sd_configs" not in node
    assert not has_dcgm("Standard_ND96isr_MI300X_v5", "train") and has_dcgm("Standard_ND96isr_H100_v5", "train")


def test_instances_of_a_scale_set_are_found_by_arm_and_held_to_the_required_rate():
    whole = contract(scale_sets=(GPUS,))
    node = scrape(whole)["scrape_configs"][0]
    assert node["azure_sd_configs"][0] == {
        "authentication_method": "ManagedIdentity",
        "subscription_id": "s",
        "resource_group": "rg",
        "port": 9100,
    }
    keep = re.compile(node["relabel_configs"][0]["regex"])
    assert keep.fullmatch(";"), "a static target stays"
    assert keep.fullmatch("/id;VMSS-small-gpu") and not keep.fullmatch("/id;") and not keep.fullmatch("/id;other")
    every = found(rules(whole, ()), "feedline:reference_read_bytes")
    assert [r["labels"] for r in every] == [{"source": "required"}] and 'node=~"gpu.*"' in every[0]["expr"]
