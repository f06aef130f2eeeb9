"""The alerts on nodes: what is wrong, where, and which task to run. feedline/render/prometheus.py makes rules of them.

Data flows lake → network → cache disk → loader → GPU; each alert names the first link that gives less than it did.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from feedline.contract import Contract
from feedline.names import RESOURCE_DISK, mount_unit

NODE_JOB, GPU_JOB = "feedline-node", "feedline-gpu"

BELOW = 0.7
"""Share of the reference below which a disk that is read flat out is too slow: loaders differ in their pattern."""

NOTHING = 0.01
"""Below this share of the required rate nothing is read to speak of: another cause, hence another alert."""

FROM_LAKE = 0.25
"""From this share of the required rate on, a network that carries more than the disk is where the data comes from."""

WAITING_PERCENT = 50
"""GPUs that hold memory and work less than this wait: no published target of utilisation lies below 70 %."""

FULL = 0.05

ON = "on (cluster, node)"


@dataclass(frozen=True)
class Alert:
    """One alert. `expression` is PromQL and keeps the label `node`, `lasts` how long it must be true."""

    name: str
    severity: str
    lasts: str
    expression: str
    says: str
    do: str


def match(contract: Contract, **labels: str) -> str:
    """Given the contract and labels, return them as PromQL matchers. JSON's quoting is PromQL's."""
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in {"cluster": contract.cluster, **labels}.items())


def of(contract: Contract) -> tuple[Alert, ...]:
    """Given the contract, return its alerts."""
    return (*_feed(contract), *_disk(contract), *_mounts(contract), *_machine(contract))


def _feed(contract: Contract) -> tuple[Alert, ...]:
    """GPUs that wait, by where the data does not come from. While they wait the loaders read flat out, so the disk
    must give what it gave in the supply leg; a job that keeps its GPUs busy may read as little as it likes."""
    every = match(contract)
    disk, reads = f"feedline:cache_read_bytes:rate5m{{{every}}}", f"feedline:cache_reads:rate5m{{{every}}}"
    network, required = f"feedline:network_receive_bytes:rate5m{{{every}}}", f"feedline:required_read_bytes{{{every}}}"
    waiting = f"{ON} (feedline:allocated_gpu_util:avg5m{{{every}}} < {WAITING_PERCENT})"
    some = f"({disk} >= {ON} {NOTHING} * {required})"

    def below(observed: str, reference: str) -> str:
        lower = f"({observed} < {ON} group_left (source) {BELOW} * {reference}{{{every}}})"
        return f"{lower} and {waiting} and {ON} {some}"

    lake = f"(({network} > {ON} {FROM_LAKE} * {required}) > {ON} {disk})"
    idle = f"({network} < {ON} {FROM_LAKE} * {required})"
    share = f"under {BELOW:.0%} of its reference while GPUs wait".replace("%", " %")
    source = "Reference: {{ $labels.source }} (validated by fab validate; or required, where NOT MEASURED)."
    again = "If no loader is short of CPU: drain the node, then fab nvme and fab validate --nodes {{ $labels.node }}."
    return (
        Alert(
            "ReadRateBelowReference",
            "warning",
            "10m",
            below(disk, "feedline:reference_read_bytes"),
            "{{ $labels.node }}: the cache disk gives {{ $value | humanize }}B/s, " + share,
            f"{source} {again}",
        ),
        Alert(
            "ReadIopsBelowReference",
            "warning",
            "10m",
            below(reads, "feedline:reference_reads"),
            "{{ $labels.node }}: the cache disk completes {{ $value | humanize }} reads/s, " + share,
            f"{source} {again}",
        ),
        Alert(
            "FedFromLake",
            "critical",
            "10m",
            f"{lake} and {waiting}",
            "{{ $labels.node }}: GPUs wait, and {{ $value | humanize }}B/s come over the network, more than from disk",
            "The cache does not hold the data set: fab cache --nodes {{ $labels.node }}.",
        ),
        Alert(
            "GpuStarved",
            "warning",
            "15m",
            f"({disk} < {ON} {NOTHING} * {required}) and {waiting} and {ON} {idle}",
            "{{ $labels.node }}: GPUs hold memory and wait, and neither cache disk nor network is read",
            "The job stands still, or its reads do: fab doctor --nodes {{ $labels.node }}, then look at the job.",
        ),
    )


def _disk(contract: Contract) -> tuple[Alert, ...]:
    there = match(contract, mountpoint=RESOURCE_DISK)
    up = f"up{{{match(contract, job=NODE_JOB, role='train')}}} == 1"
    free = f"node_filesystem_avail_bytes{{{there}}}"
    return (
        Alert(
            "CacheDiskMissing",
            "critical",
            "5m",
            f"({up}) unless {ON} {free}",
            f"{{{{ $labels.node }}}}: nothing is mounted at {RESOURCE_DISK}",
            "Local NVMe comes back empty after a deallocation: fab nvme --nodes {{ $labels.node }}, then fab cache.",
        ),
        Alert(
            "CacheDiskFull",
            "warning",
            "15m",
            f"{free} / node_filesystem_size_bytes{{{there}}} < {FULL}",
            f"{{{{ $labels.node }}}}: {RESOURCE_DISK} is full, {{{{ $value | humanizePercentage }}}} are left",
            "BlobFuse2 evicts, or fails with ENOSPC: see what else writes there; fab cache --nodes {{ $labels.node }}.",
        ),
        Alert(
            "CacheDiskReadOnly",
            "critical",
            "2m",
            f"node_filesystem_readonly{{{there}}} == 1 or node_filesystem_device_error{{{there}}} == 1",
            f"{{{{ $labels.node }}}}: {RESOURCE_DISK} went read-only or does not answer",
            "The disk has failed: drain the node; fab doctor --nodes {{ $labels.node }}.",
        ),
    )


def _mounts(contract: Contract) -> tuple[Alert, ...]:
    """Two ways to be dead: the unit is not active (or not there), and the daemon runs but its mount does not answer."""
    found = []
    for mount in contract.mounts:
        unit = mount_unit(mount.name)
        up = f"up{{{match(contract, job=NODE_JOB, role=mount.role)}}} == 1"
        active = f"node_systemd_unit_state{{{match(contract, name=unit, state='active')}}}"
        error = f"node_filesystem_device_error{{{match(contract, mountpoint=mount.path)}}}"
        name = "".join(word.capitalize() for word in mount.name.split("-"))
        found += [
            Alert(
                f"MountDead{name}",
                "critical",
                "2m",
                f"{active} == 0 or (({up}) unless {ON} {active})",
                f"{{{{ $labels.node }}}}: {unit} is not active: {mount.path} is not mounted",
                f"fab cache --nodes {{{{ $labels.node }}}}; its log: journalctl -u {unit}.",
            ),
            Alert(
                f"MountHung{name}",
                "critical",
                "2m",
                f"{error} == 1",
                f"{{{{ $labels.node }}}}: {mount.path} is mounted and does not answer",
                f"A reader hangs with it: systemctl restart {unit}, then fab cache --nodes {{{{ $labels.node }}}}.",
            ),
        ]
    return tuple(found)


def _machine(contract: Contract) -> tuple[Alert, ...]:
    every = match(contract)
    return (
        Alert(
            "NotWatched",
            "warning",
            "5m",
            f'up{{{every}, job=~"{NODE_JOB}|{GPU_JOB}"}} == 0',
            "{{ $labels.node }}: {{ $labels.job }} does not answer: nothing is known of this node",
            "Is the VM up, and its exporter? fab doctor --nodes {{ $labels.node }}.",
        ),
        Alert(
            "GpuXid",
            "warning",
            "1m",
            f"DCGM_FI_DEV_XID_ERRORS{{{every}}} > 0",
            "{{ $labels.node }}: GPU {{ $labels.gpu }} reported XID {{ $value }}",
            "The driver's last error, not storage's: look it up in NVIDIA's XID catalogue; fab doctor.",
        ),
        Alert(
            "GpuRowRemapFailed",
            "critical",
            "1m",
            f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{every}}} > 0",
            "{{ $labels.node }}: GPU {{ $labels.gpu }} could not remap a bad row of its memory (ECC)",
            "The GPU is to be replaced: drain the node and report it to Azure.",
        ),
    )
