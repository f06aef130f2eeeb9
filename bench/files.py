"""Incompressible files to read, made once per run and deleted with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.measure import drop_pages

COUNT, SIZE = 12, 16 << 20


@contextmanager
def shards() -> Iterator[list[Path]]:
    """Yield twelve files of 16 MiB on the disk of the temporary folder."""
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as folder:
        paths = [Path(folder, f"shard-{number:02}.bin") for number in range(COUNT)]
        for path in paths:
            path.write_bytes(os.urandom(SIZE))
        yield paths


def forget(paths: list[Path]) -> None:
    """Drop these files' pages, and nobody else's."""
    drop_pages(map(str, paths))
