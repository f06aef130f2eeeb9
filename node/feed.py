"""Emulated accelerators: read a batch, "compute" by sleeping, meet at a barrier - MLPerf Storage's model, on nominal
time.

One process per accelerator with its reader threads inside: reading releases the interpreter lock, and processes keep
a slow reader of one accelerator from slowing another. Reads go through the mount as a training job's do, open()
included.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from feedline.plans.validate import READ_BYTES, Record

STEP_TIMEOUT_S = 600.0
PREFETCH = 2
"""Batches a loader keeps ready, as torch's DataLoader does by default (`prefetch_factor` per worker)."""

GPU_FOLDER = Path("/run/feedline-gpu")
"""Where the sandbox's nvidia-smi stand-in reads utilisation from; written only there."""


@dataclass(frozen=True)
class Task:
    """What every accelerator of a pass does. `root` is the mount (None: no I/O at all), sizes in bytes, times in
    seconds."""

    root: str | None
    batch: int
    compute_s: float
    loaders: int
    seed: int
    show_utilisation: bool


@dataclass(frozen=True)
class Result:
    """One pass over all accelerators: counted steps of each (the first is left out), wall seconds of the slowest,
    sums."""

    steps: int
    wall_s: float
    total_s: float
    au_nominal: float
    au_measured: float
    data_wait: float
    bytes_read: int
    waits_s: tuple[float, ...]
    opens_s: tuple[float, ...]


def run_pass(records: Sequence[Record], accelerators: int, task: Task) -> Result:
    """Given the records of one pass, feed them to so many accelerators and return what they lived through.

    The records are shuffled by `task.seed` and dealt out evenly; the rest of the division is left unread. Raise
    RuntimeError naming the accelerator when one of them fails.
    """
    shuffled = list(records)
    random.Random(task.seed).shuffle(shuffled)
    share = len(shuffled) // (accelerators * task.batch) * task.batch
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(accelerators), context.Queue()
    started = time.monotonic()
    processes = [
        context.Process(
            target=_accelerator, args=(index, shuffled[index * share : (index + 1) * share], task, barrier, answers)
        )
        for index in range(accelerators)
    ]
    for process in processes:
        process.start()
    try:
        results = [answers.get(timeout=STEP_TIMEOUT_S) for _ in processes]
    finally:
        for process in processes:
            process.join(timeout=10)
            if process.is_alive():
                process.kill()
    failed = [r["error"] for r in results if r.get("error")]
    if failed:
        raise RuntimeError("; ".join(sorted(set(failed))))
    return _merge(results, task, time.monotonic() - started)


def _merge(results: Sequence[dict[str, Any]], task: Task, total_s: float) -> Result:
    """The node is as good as its slowest accelerator: wall time is the longest, utilisation the lowest."""
    steps = min(r["steps"] for r in results)
    wall = max(r["wall"] for r in results)
    return Result(
        steps=steps,
        wall_s=wall,
        total_s=total_s,
        au_nominal=min(r["steps"] * task.compute_s / r["wall"] if r["wall"] else 0.0 for r in results),
        au_measured=min(r["slept"] / r["wall"] if r["wall"] else 0.0 for r in results),
        data_wait=max(r["waited"] / r["wall"] if r["wall"] else 0.0 for r in results),
        bytes_read=sum(r["bytes"] for r in results),
        waits_s=tuple(w for r in results for w in r["waits"]),
        opens_s=tuple(o for r in results for o in r["opens"]),
    )


def _accelerator(index: int, records: list[Record], task: Task, barrier: Barrier, answers: Any) -> None:
    try:
        answers.put(_train(index, records, task, barrier))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
        barrier.abort()
        answers.put({"error": f"accelerator {index}: {type(error).__name__}: {error}"})


def _train(index: int, records: list[Record], task: Task, barrier: Barrier) -> dict[str, Any]:
    loader = _Loader(records, task)
    steps = len(records) // task.batch
    waits: list[float] = []
    slept = waited = 0.0
    barrier.wait(STEP_TIMEOUT_S)
    begun = time.monotonic()
    for step in range(steps):
        before = time.monotonic()
        loader.take(task.batch)
        ready = time.monotonic()
        if task.compute_s:
            time.sleep(task.compute_s)
        done = time.monotonic()
        barrier.wait(STEP_TIMEOUT_S)  # the all-reduce: everyone waits for the slowest
        if step == 0:
            begun = time.monotonic()  # the first step's reads fill the pipeline and are not counted
            continue
        waits.append(ready - before)
        waited, slept = waited + ready - before, slept + done - ready
        if task.show_utilisation:
            _show(index, (done - ready) / (time.monotonic() - before))
    wall = time.monotonic() - begun
    if task.show_utilisation:
        _show(index, 0.0)
    return {
        "steps": max(steps - 1, 0),
        "wall": wall,
        "slept": slept,
        "waited": waited,
        "waits": waits,
        "opens": loader.opens,
        "bytes": loader.bytes,
    }


class _Loader:
    """Reader threads of one accelerator: they take records in order from one queue and put sizes of what they read in
    another."""

    def __init__(self, records: Sequence[Record], task: Task) -> None:
        self._task = task
        self._todo: queue.SimpleQueue[Record] = queue.SimpleQueue()
        self._ready: queue.Queue[int | BaseException] = queue.Queue(
            maxsize=max(1, PREFETCH * task.loaders * task.batch)
        )
        self.opens: list[float] = []
        self.bytes = 0
        for record in records:
            self._todo.put(record)
        for _ in range(task.loaders):
            threading.Thread(target=self._work, daemon=True).start()

    def take(self, count: int) -> None:
        """Wait for `count` records."""
        for _ in range(count):
            size = self._ready.get(timeout=STEP_TIMEOUT_S)
            if isinstance(size, BaseException):
                raise size
            self.bytes += size

    def _work(self) -> None:
        files: dict[str, int] = {}
        buffer = bytearray(READ_BYTES)
        try:
            while True:
                try:
                    record = self._todo.get_nowait()
                except queue.Empty:
                    return
                self._ready.put(self._read(record, files, buffer))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for records
            self._ready.put(error)
        finally:
            for descriptor in files.values():
                os.close(descriptor)

    def _read(self, record: Record, files: dict[str, int], buffer: bytearray) -> int:
        if self._task.root is None:
            return 0
        if record.path not in files:
            started = time.monotonic()
            files[record.path] = os.open(os.path.join(self._task.root, record.path), os.O_RDONLY)
            self.opens.append(time.monotonic() - started)
        done = 0
        view = memoryview(buffer)
        while done < record.size:
            got = os.preadv(files[record.path], [view[: min(READ_BYTES, record.size - done)]], record.offset + done)
            if not got:
                raise OSError(
                    f"{record.path} ends at {record.offset + done} B, expected {record.offset + record.size} B"
                )
            done += got
        return done


def _show(index: int, utilisation: float) -> None:
    GPU_FOLDER.mkdir(exist_ok=True)
    (GPU_FOLDER / str(index)).write_text(f"{round(utilisation * 100)}\n")
