"""Verb `validate`: null, cold and NVMe-warm legs on this node, each with the counters that prove what was measured."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from feedline.contract import Contract, Mount
from feedline.errors import CheckError, OperationError
from feedline.manifest import Manifest
from feedline.names import MANIFEST_BLOB
from feedline.plans.validate import Schedule, schedule
from feedline.statistics import percentiles
from feedline.verdicts.feed import Counters, Leg, Placement, judge
from node import feed, measure
from node.cold import ColdMount
from node.facts import mount_facts

Progress = Callable[..., None]


class Validation:
    """One validated mount: its manifest, its schedule, and the devices whose bytes are counted."""

    def __init__(self, contract: Contract, node_name: str, mount: Mount, progress: Progress) -> None:
        self.contract, self.mount, self.progress = contract, mount, progress
        self.node = contract.node(node_name)
        self.account = contract.account(mount.account)
        self.workload = contract.workload
        self.facts = mount_facts(mount)
        self.cache = (
            self.facts.cache_path or mount.cache
        )  # where the running daemon really keeps it, whatever the contract says
        self.root = os.path.join(mount.path, self.workload.dataset)
        self.cached = os.path.join(self.cache, self.workload.dataset)
        self.manifest = self._manifest()
        free = shutil.disk_usage(self.cache).free
        try:
            self.schedule: Schedule = schedule(self.manifest, self.workload, free_bytes=free)
        except ValueError as error:
            raise OperationError(
                str(error), where=self.root, hint="validate with a data set of realistic size"
            ) from error
        self.placement = Placement(self.cache, measure.device_of(self.cache), measure.device_of("/"))
        self.counter = measure.EndpointCounter(measure.addresses_of([self.account.blob_endpoint]))

    def _manifest(self) -> Manifest:
        path = Path(self.root, MANIFEST_BLOB)
        try:
            return Manifest.loads(path.read_text(), where=str(path))
        except OSError as error:
            raise CheckError(
                f"the sealed data set is not readable through the mount: {error.strerror}",
                where=str(path),
                hint="run `fab ingest`, then `fab cache`",
            ) from error

    # -- legs
    # ----------------------------------------------------------------------------------------------------------------
    def null(self) -> Leg:
        """The harness alone: no I/O, so that what limits it is known before storage is blamed."""
        self.progress("null leg: emulated accelerators without I/O")
        result = feed.run_pass(
            self.schedule.records, self.workload.accelerators, self._task(None, self.workload.compute_s)
        )
        return _leg("null", [result], Counters(0, 0, 0, 0, result.wall_s), self.workload.compute_s)

    def cold(self) -> Leg:
        """Read once through a mount and cache folder of its own: everything has to come over the network."""
        files = self.schedule.cold
        total = sum(entry.size for entry in files)
        with ColdMount(self.contract, self.node, self.mount, total) as mounted, self.counter:
            device = measure.device_of(mounted.cache)
            before, started, done = (
                measure.snapshot(self.counter, device, self.placement.os_device),
                time.monotonic(),
                0,
            )
            for entry in files:
                done += _read_whole(os.path.join(mounted.path, self.workload.dataset, entry.path))
                self.progress("cold leg: from the lake", done=done, total=total, unit="B")
            seconds = time.monotonic() - started
            after = measure.snapshot(self.counter, device, self.placement.os_device)
        return Leg("cold", self._counters(before, after, done, seconds))

    def warm(self) -> Leg:
        """The judged leg: emulated accelerators on the real mount, pages dropped before every pass."""
        return self._passes("NVMe-warm", self.schedule.passes, self.workload.compute_s)

    def supply(self) -> Leg:
        """As fast as it goes, once through the data set: what the path could supply, whatever the accelerators ask
        for."""
        return self._passes("supply", 1, 0.0)

    def _passes(self, name: str, passes: int, compute_s: float) -> Leg:
        app, seconds, results = 0, 0.0, []
        moved = [0, 0, 0, 0]
        counted = True
        with self.counter:
            for number in range(passes):
                self.progress(f"{name} leg: pass {number + 1} of {passes}", done=number, total=passes, unit="passes")
                self._drop()
                before = measure.snapshot(self.counter, self.placement.cache_device, self.placement.os_device)
                result = feed.run_pass(
                    self.schedule.records, self.workload.accelerators, self._task(self.root, compute_s)
                )
                after = measure.snapshot(self.counter, self.placement.cache_device, self.placement.os_device)
                counters = self._counters(before, after, result.bytes_read, result.total_s)
                counted = counted and counters.rx is not None
                more = (counters.rx or 0, counters.disk, counters.os_disk, counters.disk_reads or 0)
                moved = [have + one for have, one in zip(moved, more, strict=True)]
                app, seconds = app + result.bytes_read, seconds + result.total_s
                results.append(result)
        rx, disk, os_disk, reads = moved
        summed = Counters(app, rx if counted else None, disk, os_disk, seconds, reads)
        return _leg(name, results, summed, compute_s)

    def _drop(self) -> None:
        """Make the next pass read the device: write back, then drop the pages of the mount's and of the cache's
        files."""
        measure.sync_file_system(self.cache)
        measure.drop_pages(os.path.join(self.root, entry.path) for entry in self.manifest.entries)
        measure.drop_pages(
            path for path in (os.path.join(self.cached, e.path) for e in self.manifest.entries) if os.path.exists(path)
        )

    def _task(self, root: str | None, compute_s: float) -> feed.Task:
        return feed.Task(
            root,
            self.workload.batch,
            compute_s,
            self.workload.loaders,
            random.SystemRandom().randrange(1 << 32),
            show_utilisation=self.contract.is_sandbox and bool(compute_s),
        )

    def _counters(self, before: measure.Snapshot, after: measure.Snapshot, app: int, seconds: float) -> Counters:
        rx = None if before.rx is None or after.rx is None else after.rx - before.rx
        # With the cache on the device of `/` both counters show the same bytes: that is what betrays it.
        disk, os_disk = after.cache_read - before.cache_read, after.os_moved - before.os_moved
        return Counters(app, rx, disk, os_disk, seconds, after.cache_reads - before.cache_reads)


def run(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Given a request of the node protocol, measure every read-only mount of this node and return the verdicts with
    what they are bound to. Changes nothing that outlives it. Raise CheckError when there is no sealed data set to
    read."""
    contract = Contract.parse(request["contract"])
    node = contract.node(request["node"])
    mounts = [mount for mount in contract.mounts_of(node) if mount.read_only]
    if not mounts:
        raise OperationError(f"{node.name} has no data set mount to validate", hint="validate nodes of role train")
    verdicts, measurements, facts = [], {}, {}
    for mount in mounts:
        validation = Validation(contract, node.name, mount, progress)
        null, cold, warm, supply = validation.null(), validation.cold(), validation.warm(), validation.supply()
        found = judge(
            contract.workload,
            mount,
            node.name,
            null=null,
            cold=cold,
            warm=warm,
            supply=supply,
            placement=validation.placement,
        )
        verdicts += [verdict.as_dict() for verdict in found]
        measurements[mount.name] = {leg.name: _plain(leg) for leg in (null, cold, warm, supply)}
        facts[mount.name] = {"manifest_digest": validation.manifest.digest, **validation.facts.as_dict()}
    return {
        "facts": {"mounts": facts},
        "plan": None,
        "applied": [],
        "changed": False,
        "verdicts": verdicts,
        "measurements": measurements,
    }


def _leg(name: str, results: list[feed.Result], counters: Counters, compute_s: float) -> Leg:
    """Given the passes of a leg, return it. Utilisation is nominal - steps * compute time / wall - because a sleep that
    overshoots would count as work; without compute time there is none."""
    steps, wall = sum(r.steps for r in results), sum(r.wall_s for r in results)
    if not (wall and compute_s):
        return Leg(name, counters, steps=steps)
    return Leg(
        name,
        counters,
        au=steps * compute_s / wall,
        au_measured=sum(r.au_measured * r.wall_s for r in results) / wall,
        data_wait=sum(r.data_wait * r.wall_s for r in results) / wall,
        latency=percentiles([w for r in results for w in r.waits_s]),
        steps=steps,
    )


def _plain(leg: Leg) -> dict[str, Any]:
    counters = leg.counters
    return {
        "seconds": counters.seconds,
        "app_bytes": counters.app,
        "rx_bytes": counters.rx,
        "cache_device_bytes": counters.disk,
        "cache_device_reads": counters.disk_reads,
        "os_disk_bytes": counters.os_disk,
        "bytes_per_s": counters.rate,
        "au_nominal": leg.au,
        "au_measured": leg.au_measured,
        "data_wait": leg.data_wait,
        "steps": leg.steps,
        "batch_wait_s": dict(leg.latency or {}),
    }


def _read_whole(path: str) -> int:
    """Read a file once, open() included: with file_cache the whole download happens inside open()."""
    total = 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(feed.READ_BYTES):
            total += len(block)
    return total
