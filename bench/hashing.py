"""Hashing a data set for its manifest (MD5 and SHA-256 in one reading), beside coreutils doing both."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.files import SIZE, shards
from bench.row import compare, report
from node.ingest import _entry


def run() -> None:
    """Compare our threads with one thread, and with md5sum and sha256sum."""
    with shards() as paths:
        total = len(paths) * SIZE

        def entry(path: Path) -> object:
            return _entry(path.parent, path.name)

        def threads() -> int:
            with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
                list(pool.map(entry, paths))
            return total

        def one() -> int:
            for path in paths:
                entry(path)
            return total

        def coreutils() -> int:
            for tool in ("md5sum", "sha256sum"):
                subprocess.run([tool, *map(str, paths)], check=True, stdout=subprocess.DEVNULL)
            return total

        peers = {
            "md5sum, then sha256sum": coreutils,
            "one thread, one reading": one,
            "manifest (one reading, all cores)": threads,
        }
        report("hashing for the manifest", compare(peers))
