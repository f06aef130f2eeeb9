"""The dashboard of one cluster: what the nodes are fed against what they need, link by link from lake to GPU.

Reads the series that feedline/render/prometheus.py records; JSON as Grafana 10 and newer import it. The lake's own row
needs Grafana's Azure Monitor data source and stays collapsed without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from feedline.contract import Account, Contract
from feedline.names import RESOURCE_DISK
from feedline.render.alerts import BELOW, NODE_JOB, match

SCHEMA = 39
"""Grafana 10.4's dashboard schema; newer ones migrate it on import."""

UID_LENGTH = 40
"""Grafana refuses a longer uid."""

SOURCE = {"type": "prometheus", "uid": "${prometheus}"}
AZURE = {"type": "grafana-azure-monitor-datasource", "uid": "${azure}"}


def dashboard(contract: Contract) -> dict[str, Any]:
    """Given the contract, return the dashboard. Its uid follows from the cluster's name alone: importing it again
    replaces it."""
    rows = [*_feed(contract), *_network(contract), *_health(contract)]
    panels = [_placed(panel, index) for index, panel in enumerate(rows)]
    below = 8 * (len(panels) + 1) // 2
    panels.append(_lake_row(contract, len(panels) + 1, below))
    return {
        "uid": uid(contract.cluster),
        "title": f"{'SANDBOX: ' if contract.is_sandbox else ''}Feedline {contract.cluster}",
        "tags": ["feedline", contract.environment],
        "schemaVersion": SCHEMA,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {"list": _variables(contract)},
        "annotations": {"list": []},
        "panels": panels,
    }


def uid(cluster: str) -> str:
    """Given a cluster's name, return its dashboard's uid."""
    whole = f"feedline-{cluster}"
    return whole if len(whole) <= UID_LENGTH else f"feedline-{hashlib.sha256(cluster.encode()).hexdigest()[:16]}"


def _variables(contract: Contract) -> list[dict[str, Any]]:
    query = f"label_values(up{{{match(contract, job=NODE_JOB)}}}, node)"
    node = {"name": "node", "type": "query", "datasource": SOURCE, "query": query, "refresh": 2, "multi": True}
    return [
        {"name": "prometheus", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {"name": "azure", "type": "datasource", "query": AZURE["type"], "label": "Azure Monitor"},
        {**node, "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}, "sort": 3},
    ]


def _of(contract: Contract, series: str, **labels: str) -> str:
    return f'{series}{{{match(contract, **labels)}, node=~"$node"}}'


def _panel(title: str, unit: str, why: str, *queries: tuple[str, str], kind: str = "timeseries") -> dict[str, Any]:
    return {
        "type": kind,
        "title": title,
        "description": why,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(queries)
        ],
    }


def _feed(contract: Contract) -> list[dict[str, Any]]:
    disk, required = _of(contract, "feedline:cache_read_bytes:rate5m"), _of(contract, "feedline:required_read_bytes")
    reference = _of(contract, "feedline:reference_read_bytes")
    reads, reference_reads = _of(contract, "feedline:cache_reads:rate5m"), _of(contract, "feedline:reference_reads")
    waits = "A job that keeps its GPUs busy may read less than it may; alerts fire only while GPUs wait."
    return [
        _panel(
            "Feed against required and reference",
            "Bps",
            waits,
            (disk, "{{node}} reads"),
            (f"max({required})", "required"),
            (f"{BELOW} * {reference}", "{{node}} alert below ({{source}})"),
        ),
        _panel(
            "Reads completed",
            "iops",
            "A node without a line of its own has no counted reference: fab validate.",
            (reads, "{{node}}"),
            (f"{BELOW} * {reference_reads}", "{{node}} alert below"),
        ),
    ]


def _network(contract: Contract) -> list[dict[str, Any]]:
    disk = _of(contract, "feedline:cache_read_bytes:rate5m")
    network = _of(contract, "feedline:network_receive_bytes:rate5m")
    gpus = _of(contract, "feedline:allocated_gpu_util:avg5m")
    return [
        _panel(
            "Network received against disk read",
            "Bps",
            "Once staged, the network is quiet: what it carries then, the cache did not have.",
            (network, "{{node}} network"),
            (disk, "{{node}} disk"),
        ),
        _panel("GPU utilisation", "percent", "Of GPUs that hold memory, mean of a node.", (gpus, "{{node}}")),
    ]


def _health(contract: Contract) -> list[dict[str, Any]]:
    there = {"mountpoint": RESOURCE_DISK}
    free = _of(contract, "node_filesystem_avail_bytes", **there)
    size = _of(contract, "node_filesystem_size_bytes", **there)
    units = f'{match(contract, state="active")}, name=~"feedline-mount-.+", node=~"$node"'
    active = f"node_systemd_unit_state{{{units}}}"
    return [
        _panel("Cache disk filled", "percentunit", f"{RESOURCE_DISK}.", (f"1 - {free} / {size}", "{{node}}")),
        _panel("Mounts up", "short", "1 = the unit is active.", (active, "{{node}} {{name}}"), kind="stat"),
    ]


def _placed(panel: dict[str, Any], index: int) -> dict[str, Any]:
    """Two panels in a row; ids follow the order, so the same contract gives the same bytes."""
    return {**panel, "id": index + 1, "gridPos": {"h": 8, "w": 12, "x": 12 * (index % 2), "y": 8 * (index // 2)}}


def _lake_row(contract: Contract, number: int, y: int) -> dict[str, Any]:
    lakes = contract.accounts
    panels = [{**_egress(lakes), "id": number + 1, "gridPos": {"h": 8, "w": 24, "x": 0, "y": y + 1}}]
    grid = {"h": 1, "w": 24, "x": 0, "y": y}
    title = "Lake (needs the Azure Monitor data source)"
    return {"type": "row", "title": title, "collapsed": True, "id": number, "gridPos": grid, "panels": panels}


def _egress(lakes: Sequence[Account]) -> dict[str, Any]:
    def target(index: int, account: Account) -> dict[str, Any]:
        words = account.resource_id.split("/")
        subscription, group = (words[2], words[4]) if len(words) > 4 else ("", "")
        names = {"subscription": subscription, "resourceGroup": group, "resourceName": account.name}
        namespace = {"metricNamespace": "microsoft.storage/storageaccounts"}
        query = {"resources": [{**names, **namespace}], **namespace, "metricName": "Egress", "aggregation": "Total"}
        more = {"subscription": subscription, "queryType": "Azure Monitor", "datasource": AZURE}
        return {"refId": chr(ord("A") + index), **more, "azureMonitor": {**query, "timeGrain": "PT1M"}}

    return {
        "type": "timeseries",
        "title": "Egress of the lake, bytes a minute",
        "datasource": AZURE,
        "fieldConfig": {"defaults": {"unit": "bytes", "min": 0}, "overrides": []},
        "targets": [target(index, account) for index, account in enumerate(lakes)],
    }
