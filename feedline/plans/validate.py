"""How much a throughput validation reads, and in what order: enough to be past any burst, never more than the
budget."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.contract import Workload
from feedline.manifest import Entry, Manifest

MIN_STEPS = 20
"""Counted steps of the judged leg. Few steps make the accelerator utilisation a matter of luck."""

COLD_SECONDS = 30.0
"""The cold leg reads about what the workload eats in this time, so that a token bucket's burst does not decide."""

READ_BYTES = 1 << 20
"""One read() as the loaders make it: BlobFuse2 mounts with max_read = 1 MiB."""


@dataclass(frozen=True, order=True)
class Record:
    """One sample: a range of a file, in bytes."""

    path: str
    offset: int
    size: int


@dataclass(frozen=True)
class Schedule:
    """What each leg does. `records` are all samples of the data set; `passes` is how often the judged leg goes
    through them, pages dropped before each; `steps` counts one accelerator's steps in a pass; `cold` names the files
    of the cold leg."""

    records: tuple[Record, ...]
    steps: int
    passes: int
    cold: tuple[Entry, ...]


def records(manifest: Manifest, record_bytes: int) -> tuple[Record, ...]:
    """Given a manifest and the size of a sample in bytes, return every sample. A sample larger than a file is the
    whole file."""
    found = []
    for entry in (e for e in manifest.entries if e.size):
        size = min(record_bytes, entry.size)
        found += [Record(entry.path, offset, size) for offset in range(0, entry.size - size + 1, size)]
    return tuple(found)


def schedule(manifest: Manifest, workload: Workload, *, free_bytes: int) -> Schedule:
    """Given the sealed manifest, the workload and the free bytes of the cache disk, return the schedule.

    Raise ValueError when the data set is too small to judge anything: less than two steps of every accelerator.
    """
    samples = records(manifest, workload.record_bytes)
    steps = len(samples) // (workload.accelerators * workload.batch)
    if steps < 2:
        raise ValueError(
            f"data set {manifest.dataset} holds {len(samples)} samples; "
            f"{workload.accelerators} accelerators with batches of {workload.batch} "
            f"need {2 * workload.accelerators * workload.batch} at least"
        )
    return Schedule(samples, steps, -(-MIN_STEPS // (steps - 1)), _cold(manifest, workload, free_bytes))


def _cold(manifest: Manifest, workload: Workload, free_bytes: int) -> tuple[Entry, ...]:
    """The files of the cold leg, largest first: they are downloaded once into a folder of their own and deleted
    again."""
    budget = min(workload.demand_bytes_per_s * COLD_SECONDS, free_bytes * 0.5, manifest.bytes * 0.5)
    chosen: list[Entry] = []
    for entry in sorted(manifest.entries, key=lambda e: (-e.size, e.path)):
        if not chosen or sum(e.size for e in chosen) + entry.size <= budget:
            chosen.append(entry)
    return tuple(chosen)
