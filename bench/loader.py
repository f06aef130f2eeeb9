"""The emulated accelerators' readers without compute time, beside a plain sequential read: the harness's own cost."""

from __future__ import annotations

from bench.files import SIZE, forget, shards
from bench.row import compare, report
from feedline.plans.validate import Record
from node.feed import Task, run_pass

RECORD = 1 << 20


def run() -> None:
    """Compare reading the same files from disk, pages dropped before each trial."""
    with shards() as paths:
        folder = str(paths[0].parent)
        records = [Record(path.name, offset, RECORD) for path in paths for offset in range(0, SIZE, RECORD)]

        def plain() -> int:
            done = 0
            for path in paths:
                with path.open("rb", buffering=0) as file:
                    while block := file.read(RECORD):
                        done += len(block)
            return done

        def emulated() -> int:
            return run_pass(records, 8, Task(folder, 4, 0.0, 2, 1, show_utilisation=False)).bytes_read

        peers = {"sequential read, one process": plain, "8 emulated accelerators x 2 readers, shuffled": emulated}
        report("reading 192 MiB cold", compare(peers, before_each=lambda: forget(paths)))
