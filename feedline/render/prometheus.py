"""What Prometheus watches on the nodes: rules against the validated reference, and whom to scrape.

Values that are written as JSON, which is YAML. Every metric is one that node_exporter or dcgm-exporter has by default
(`--collector.systemd` excepted): tests/unit/render/test_prometheus.py lists them with their source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from feedline.catalog.nd_series import SIZES
from feedline.contract import Contract
from feedline.names import RESOURCE_DISK
from feedline.reference import Reference
from feedline.render import alerts
from feedline.render.alerts import GPU_JOB, NODE_JOB, match

NODE_PORT, GPU_PORT = 9100, 9400
"""Where node_exporter and dcgm-exporter listen by default."""

ALLOCATED_MIB = 1024
"""A GPU that holds more than this is somebody's: an idle CUDA context alone holds a few hundred MiB."""


def rules(contract: Contract, references: Sequence[Reference]) -> dict[str, Any]:
    """Given the contract and what was measured (feedline.reference), return the content of a Prometheus rule file."""
    groups = {
        "reference": [*_references(contract, references), *_scale_sets(contract)],
        "observed": _observed(contract),
        "alerts": _alerts(contract),
    }
    return {"groups": [{"name": f"feedline-{contract.cluster}-{n}", "rules": r} for n, r in groups.items() if r]}


def scrape(contract: Contract) -> dict[str, Any]:
    """Given the contract, return `scrape_configs`: two jobs, one target a node, the instances of scale sets by ARM."""
    jobs = []
    for job, port in ((NODE_JOB, NODE_PORT), (GPU_JOB, GPU_PORT)):
        nodes = [n for n in contract.nodes if job == NODE_JOB or has_dcgm(n.size, n.role)]
        sets = [s for s in contract.scale_sets if job == NODE_JOB or has_dcgm(s.size, s.role)]
        config: dict[str, Any] = {
            "job_name": job,
            "static_configs": [
                {"targets": [f"{n.address}:{port}"], "labels": {**_labels(contract), "node": n.name, "role": n.role}}
                for n in nodes
            ],
        }
        if sets:
            config["azure_sd_configs"] = [
                {
                    "authentication_method": "ManagedIdentity",
                    "subscription_id": s.resource_id.split("/")[2],
                    "resource_group": s.resource_id.split("/")[4],
                    "port": port,
                }
                for s in sets
            ]
            config["relabel_configs"] = _relabel(contract, [(s.resource_id.split("/")[-1], s.role) for s in sets])
        jobs.append(config)
    return {"scrape_configs": jobs}


def has_dcgm(size: str, role: str) -> bool:
    """Given a node's size and role, return whether dcgm-exporter can run there: it knows NVIDIA's GPUs only."""
    return role == "train" and not (size in SIZES and SIZES[size].gpu_name.startswith("AMD"))


def _relabel(contract: Contract, sets: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Of what ARM finds keep the scale sets' instances, and name them as the contract does. Static targets have no
    `__meta_azure_…` and stay as they are (Prometheus, "azure_sd_config")."""
    source = ["__meta_azure_machine_id", "__meta_azure_machine_scale_set"]
    names = "|".join(re.escape(name) for name, _ in sets)
    found: list[dict[str, Any]] = [{"source_labels": source, "regex": f";|.+;(?i:{names})", "action": "keep"}]
    found.append({"source_labels": ["__meta_azure_machine_computer_name"], "regex": "(.+)", "target_label": "node"})
    for name, role in sets:
        wanted = {**_labels(contract), "role": role}
        found += [
            {"source_labels": source[1:], "regex": f"(?i:{re.escape(name)})", "target_label": k, "replacement": v}
            for k, v in wanted.items()
        ]
    return found


def _labels(contract: Contract) -> dict[str, str]:
    simulated = {"simulated": "true"} if contract.is_sandbox else {}
    return {"cluster": contract.cluster, "environment": contract.environment, **simulated}


def _record(name: str, expression: str, **labels: str) -> dict[str, Any]:
    return {"record": f"feedline:{name}", "expr": expression, **({"labels": labels} if labels else {})}


def _references(contract: Contract, references: Sequence[Reference]) -> list[dict[str, Any]]:
    required, cluster = contract.workload.required_bytes_per_s, contract.cluster
    found = []
    for r in references:
        labels = {"cluster": cluster, "node": r.node}
        source, rate = ("required", required) if r.bytes_per_s is None else ("validated", r.bytes_per_s)
        found.append(_record("reference_read_bytes", f"vector({rate:.0f})", **labels, source=source))
        found.append(_record("required_read_bytes", f"vector({required:.0f})", **labels))
        if r.reads_per_s is not None:
            found.append(_record("reference_reads", f"vector({r.reads_per_s:.0f})", **labels, source="validated"))
    return found


def _scale_sets(contract: Contract) -> list[dict[str, Any]]:
    """Instances that the contract does not name are measured against what the workload requires."""
    found, known = [], "|".join(re.escape(node.name) for node in contract.nodes)
    for s in contract.scale_sets:
        nodes = f"node=~{json.dumps(re.escape(s.prefix) + '.*')}, node!~{json.dumps(known)}"
        up = f"max by (cluster, node) (up{{{match(contract, job=NODE_JOB)}, {nodes}}})"
        rate = f"0 * {up} + {contract.workload.required_bytes_per_s:.0f}"
        found += [_record("reference_read_bytes", rate, source="required"), _record("required_read_bytes", rate)]
    return found


def _observed(contract: Contract) -> list[dict[str, Any]]:
    """What the nodes do, one series a node: the alerts and the dashboard read these."""
    every = match(contract)
    # Which device the cache is on is the file system's to say: md127, nvme0n1 or sdc.
    cache = f"node_filesystem_size_bytes{{{match(contract, mountpoint=RESOURCE_DISK)}}}"
    device = f'label_replace({cache}, "device", "$1", "device", "/dev/(.+)")'

    def of_cache(metric: str) -> str:
        return f"sum by (cluster, node) (rate({metric}{{{every}}}[5m]) and on (cluster, node, device) {device})"

    # A VF of accelerated networking counts the same bytes again under another name than eth0; InfiniBand is ib0.
    network = f'sum by (cluster, node) (rate(node_network_receive_bytes_total{{{every}, device=~"eth[0-9]+"}}[5m]))'
    used = f"DCGM_FI_DEV_FB_USED{{{every}}} > {ALLOCATED_MIB}"
    gpus = f"avg_over_time(DCGM_FI_DEV_GPU_UTIL{{{every}}}[5m]) and on (cluster, node, UUID) ({used})"
    return [
        _record("cache_read_bytes:rate5m", of_cache("node_disk_read_bytes_total")),
        _record("cache_reads:rate5m", of_cache("node_disk_reads_completed_total")),
        _record("network_receive_bytes:rate5m", network),
        _record("allocated_gpu_util:avg5m", f"avg by (cluster, node) ({gpus})"),
    ]


def _alerts(contract: Contract) -> list[dict[str, Any]]:
    labels = _labels(contract)
    return [
        {
            "alert": f"Feedline{a.name}",
            "expr": a.expression,
            "for": a.lasts,
            "labels": {**labels, "severity": a.severity},
            "annotations": {
                "summary": f"{'SANDBOX: ' if contract.is_sandbox else ''}{a.says}",
                "description": a.do,
                "runbook": "docs/runbooks/watch.md",
            },
        }
        for a in alerts.of(contract)
    ]
