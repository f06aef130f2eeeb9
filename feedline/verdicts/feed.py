"""Will this storage keep these accelerators busy? Counters first, utilisation second, and what cannot be trusted is
INVALID.

Terms: `app` is what the loaders read; `rx` what came from the storage endpoints' addresses; `disk` what the cache's
block device read; `os_disk` what the device of `/` read and wrote. All bytes, over the same leg. AU = accelerator
utilisation as MLPerf Storage counts it, on nominal compute time. Bounds: docs/reference/validation.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from feedline.contract import Mount, Workload
from feedline.units import human_bytes, human_percent, human_rate, human_seconds
from feedline.verdict import Status, Verdict

COLD_RX_MIN = 0.75
WARM_RX_MAX = 0.05
WARM_DISK_MIN = 0.75
OS_DISK_MAX = 0.20
"""azure-storage-fuse's own harness refuses a cold read below rx/app 0.75; the others are this project's, see the
docs."""


@dataclass(frozen=True)
class Counters:
    """Bytes moved during one leg. `rx` is None when no counter on the endpoints' addresses could be had. `disk_reads`
    is how many reads the cache's device completed, None where nobody counted."""

    app: int
    rx: int | None
    disk: int
    os_disk: int
    seconds: float
    disk_reads: int | None = None

    @property
    def rate(self) -> float:
        """What the loaders got, in bytes/s."""
        return self.app / self.seconds if self.seconds else 0.0

    def ratio(self, part: int | None) -> float | None:
        """Given one of the counters, return it as a share of what the loaders read."""
        return None if part is None or not self.app else part / self.app


@dataclass(frozen=True)
class Leg:
    """One leg: its counters and, where accelerators were emulated, their utilisation (0..1) and the waits'
    percentiles (s)."""

    name: str
    counters: Counters
    au: float | None = None
    au_measured: float | None = None
    data_wait: float | None = None
    latency: Mapping[str, float] | None = None
    steps: int = 0


@dataclass(frozen=True)
class Placement:
    """Where the running daemon caches, and the block devices (`7:3`) of that folder and of `/`."""

    cache_path: str
    cache_device: str
    os_device: str


def judge(
    workload: Workload,
    mount: Mount,
    node: str,
    *,
    null: Leg,
    cold: Leg | None,
    warm: Leg,
    supply: Leg,
    placement: Placement,
) -> list[Verdict]:
    """Given all legs of one node, return the verdicts: the harness, the cold leg's honesty, the placement, the judged
    feed."""
    verdicts = [_harness(workload, node, null), _cold(workload, mount, node, cold)]
    verdicts.append(_placement(node, warm, placement))
    moved = verdicts[-1].status is Status.FAIL
    honest = _honesty(node, warm, supply)
    verdicts.append(honest)
    trusted = verdicts[0].status is Status.PASS and honest.status is Status.PASS
    verdicts += [
        _utilisation(workload, node, warm, trusted or moved),
        _supply(workload, node, supply, trusted or moved),
    ]
    return verdicts


def _harness(workload: Workload, node: str, null: Leg) -> Verdict:
    """With no I/O at all the emulated accelerators must reach their target; otherwise the harness is what would be
    measured."""
    au = null.au or 0.0
    good = au >= workload.au_target
    return Verdict(
        "validate",
        "harness",
        node,
        Status.PASS if good else Status.INVALID,
        "OK" if good else "HARNESS_LIMITED",
        f"AU {human_percent(au)} without any I/O, target {human_percent(workload.au_target)}",
        ""
        if good
        else "the node is too busy to emulate its accelerators: stop other work on it and run `fab validate` again",
        au,
        workload.au_target,
        None,
        "AU",
        {"leg": _evidence(null)},
    )


def _cold(workload: Workload, mount: Mount, node: str, cold: Leg | None) -> Verdict:
    if cold is None:
        return Verdict(
            "validate",
            "cold read",
            node,
            Status.NOT_MEASURED,
            "NO_COLD_LEG",
            "the cold leg was not run",
            "run `fab validate --again`",
        )
    share = cold.counters.ratio(cold.counters.rx)
    rate = cold.counters.rate
    staging = human_seconds(workload.dataset_bytes / rate) if rate else "for ever"
    if share is None:
        return Verdict(
            "validate",
            "cold read",
            node,
            Status.INVALID,
            "NO_ENDPOINT_COUNTER",
            "bytes from the storage endpoints could not be counted",
            "nftables must be usable on the node; see `fab doctor`",
            evidence={"leg": _evidence(cold)},
        )
    good = share >= COLD_RX_MIN
    return Verdict(
        "validate",
        "cold read",
        node,
        Status.PASS if good else Status.INVALID,
        "OK" if good else "COLD_WAS_NOT_COLD",
        f"{human_rate(rate)} from the lake (rx/app {share:.2f}); the whole data set stages in {staging}",
        "" if good else "the bytes did not come over the network, so this is no cold read: run `fab validate --again`",
        share,
        COLD_RX_MIN,
        None,
        "rx/app",
        {"leg": _evidence(cold), "mode": mount.mode},
    )


def _placement(node: str, warm: Leg, placement: Placement) -> Verdict:
    share = warm.counters.ratio(warm.counters.os_disk) or 0.0
    same = placement.cache_device == placement.os_device
    bad = same or share >= OS_DISK_MAX
    told = (
        f"{placement.cache_path} is on the OS disk ({placement.os_device})"
        if same
        else f"{placement.cache_path} is on its own device ({placement.cache_device})"
    )
    return Verdict(
        "validate",
        "cache device",
        node,
        Status.FAIL if bad else Status.PASS,
        "CACHE_ON_OS_DISK" if bad else "OK",
        f"{told}; OS disk moved {share:.2f} of what was read",
        "put the cache on the local NVMe: `fab nvme`, then `fab cache`" if bad else "",
        share,
        None,
        OS_DISK_MAX,
        "os_disk/app",
        asdict(placement),
    )


def _honesty(node: str, warm: Leg, supply: Leg) -> Verdict:
    """A warm read must come from the NVMe: not from the network, and not from the page cache."""
    problems, reason = [], "OK"
    for leg in (warm, supply):
        rx, disk = leg.counters.ratio(leg.counters.rx), leg.counters.ratio(leg.counters.disk)
        if rx is None:
            problems.append(f"{leg.name}: bytes from the storage endpoints could not be counted")
            reason = "NO_ENDPOINT_COUNTER"
        elif rx > WARM_RX_MAX:
            problems.append(
                f"{leg.name}: {human_percent(rx)} of the bytes came from the network "
                f"(at most {human_percent(WARM_RX_MAX)})"
            )
            reason = "NOT_FROM_CACHE"
        if disk is None or disk < WARM_DISK_MIN:
            problems.append(
                f"{leg.name}: the cache device delivered {human_percent(disk or 0)} of the bytes "
                f"(at least {human_percent(WARM_DISK_MIN)})"
            )
            reason = "PAGE_CACHE" if reason == "OK" else reason
    rx, disk = warm.counters.ratio(warm.counters.rx), warm.counters.ratio(warm.counters.disk)
    numbers = f"rx/app {rx:.2f}, disk/app {disk:.2f}" if rx is not None and disk is not None else "counters incomplete"
    hints = {
        "NOT_FROM_CACHE": "the cache does not hold the data set: run `fab cache`",
        "PAGE_CACHE": "memory was measured, not storage: run `fab validate --again`",
        "NO_ENDPOINT_COUNTER": "nftables must be usable on the node; see `fab doctor`",
    }
    status = Status.PASS if not problems else Status.FAIL if reason == "NOT_FROM_CACHE" else Status.INVALID
    return Verdict(
        "validate",
        "warm bytes from NVMe",
        node,
        status,
        reason,
        "; ".join(problems) or numbers,
        hints.get(reason, ""),
        disk,
        WARM_DISK_MIN,
        None,
        "disk/app",
        {"warm": _evidence(warm), "supply": _evidence(supply)},
    )


def _utilisation(workload: Workload, node: str, warm: Leg, trusted: bool) -> Verdict:
    au = warm.au or 0.0
    low = au < workload.au_target
    status = Status.FAIL if low else Status.PASS if trusted else Status.INVALID
    wait = f", data wait {human_percent(warm.data_wait)}" if warm.data_wait is not None else ""
    return Verdict(
        "validate",
        "NVMe-warm feed",
        node,
        status,
        "STARVED" if low else "OK" if trusted else "UNTRUSTED",
        f"AU {human_percent(au)} of {workload.accelerators} emulated accelerators "
        f"at {human_rate(workload.demand_bytes_per_s)} demand, "
        f"target {human_percent(workload.au_target)}{wait}",
        "the accelerators would wait for data: read the other lines for the cause"
        if low
        else ""
        if trusted
        else "the counters above do not support this number",
        au,
        workload.au_target,
        None,
        "AU",
        {"leg": _evidence(warm)},
    )


def _supply(workload: Workload, node: str, supply: Leg, trusted: bool) -> Verdict:
    rate, needed = supply.counters.rate, workload.required_bytes_per_s
    low = rate < needed
    status = Status.FAIL if low else Status.PASS if trusted else Status.INVALID
    return Verdict(
        "validate",
        "supply",
        node,
        status,
        "SUPPLY_TOO_LOW" if low else "OK" if trusted else "UNTRUSTED",
        f"{human_rate(rate)} of {human_rate(needed)} required (demand x AU target x {workload.headroom:g} headroom), "
        f"{human_bytes(supply.counters.app)} read",
        "the storage path cannot supply this workload with headroom"
        if low
        else ""
        if trusted
        else "the counters above do not support this number",
        rate,
        needed,
        None,
        "B/s",
        {"leg": _evidence(supply)},
    )


def _evidence(leg: Leg) -> dict[str, Any]:
    counters = leg.counters
    return {
        **asdict(leg),
        "rate_bytes_per_s": round(counters.rate),
        "rx_app": counters.ratio(counters.rx),
        "disk_app": counters.ratio(counters.disk),
        "os_disk_app": counters.ratio(counters.os_disk),
    }
