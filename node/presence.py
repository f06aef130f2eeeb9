"""Which bytes of the data set are on the cache disk: allocated blocks and hashes, hashing again only what has
changed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from feedline.manifest import Manifest
from feedline.names import STATE_FOLDER
from feedline.verdicts.cache import Cached
from node import door

SECTOR = 512
READ_BYTES = 4 << 20
POLL_S = 0.5
STALL_S = 120.0


def record_path(mount: str) -> str:
    """Given a mount's name, return where its presence record is kept."""
    return f"{STATE_FOLDER}/presence-{mount}.json"


def wait_loaded(manifest: Manifest, root: str, progress: Callable[..., None]) -> None:
    """Wait until every file of the manifest is allocated below `root`, or nothing has come for two minutes.

    BlobFuse2's preload answers before the data is there, and its own percentage can say 100 too early.
    """
    moved_at, before = time.monotonic(), -1
    while time.monotonic() - moved_at < STALL_S:
        have = sum(min(allocated(os.path.join(root, e.path)), e.size) for e in manifest.entries)
        progress("loading the data set onto the NVMe", done=have, total=manifest.bytes, unit="B")
        if have >= manifest.bytes:
            return
        if have != before:
            before, moved_at = have, time.monotonic()
        time.sleep(POLL_S)


def allocated(path: str) -> int:
    """Given a path, return the bytes the file system has allocated for it; 0 when it is not there."""
    try:
        return os.stat(path).st_blocks * SECTOR
    except OSError:
        return 0


def survey(
    manifest: Manifest, root: str, mount: str, binding: Mapping[str, Any], progress: Callable[..., None], *, again: bool
) -> dict[str, Cached]:
    """Given a manifest and the cache folder, return every file's size, allocation and hash.

    A hash from the record is used again when manifest, boot, daemon and the file's inode, size, blocks and times are
    the same; `again` hashes everything. The record is rewritten.
    """
    known = _known(mount, manifest, binding) if not again else {}
    facts = {e.path: _stat(os.path.join(root, e.path)) for e in manifest.entries}
    todo = [path for path, fact in facts.items() if fact and known.get(path, {}).get("stat") != fact]
    total, done = sum(facts[p][1] for p in todo if facts[p]), 0
    hashes = {path: str(entry["sha256"]) for path, entry in known.items()}
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:  # hashlib lets go of the interpreter lock
        for path, digest in zip(todo, pool.map(lambda p: _sha256(os.path.join(root, p)), todo), strict=True):
            hashes[path] = digest
            done += facts[path][1]
            progress("hashing the cache", done=done, total=total, unit="B")
    record = {
        "manifest": manifest.digest,
        "binding": dict(binding),
        "files": {path: {"stat": fact, "sha256": hashes[path]} for path, fact in facts.items() if fact},
    }
    door.write(record_path(mount), json.dumps(record), mode=0o600)
    return {path: Cached(fact[1], fact[2] * SECTOR, hashes[path]) for path, fact in facts.items() if fact}


def _known(mount: str, manifest: Manifest, binding: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    text = door.read(record_path(mount))
    record = json.loads(text) if text else {}
    same = record.get("manifest") == manifest.digest and record.get("binding") == dict(binding)
    return dict(record.get("files", {})) if same else {}


def _stat(path: str) -> list[int]:
    """[inode, size, blocks, mtime ns, ctime ns], or nothing when it is not there."""
    try:
        facts = os.stat(path)
    except OSError:
        return []
    return [facts.st_ino, facts.st_size, facts.st_blocks, facts.st_mtime_ns, facts.st_ctime_ns]


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()
