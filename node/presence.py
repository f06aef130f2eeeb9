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
FETCHERS = 8


def record_path(mount: str) -> str:
    """Given a mount's name, return where its presence record is kept."""
    return f"{STATE_FOLDER}/presence-{mount}.json"


def wait_loaded(
    manifest: Manifest, root: str, mount: str, binding: Mapping[str, Any], progress: Callable[..., None]
) -> None:
    """Wait until every file of the manifest is allocated below `root`, or nothing has come for two minutes.

    BlobFuse2's preload answers before the data is there, and its own percentage can say 100 too early. What this
    daemon had when it was last waited for is in the record: with no more than that, it does not load any more.
    """
    moved_at, before = time.monotonic(), -1
    settled = sum(fact["stat"][2] * SECTOR for fact in _known(mount, manifest, binding).values())
    while time.monotonic() - moved_at < STALL_S:
        there = [allocated(os.path.join(root, e.path)) for e in manifest.entries]
        have = sum(min(got, e.size) for got, e in zip(there, manifest.entries, strict=True))
        progress("loading the data set onto the NVMe", done=have, total=manifest.bytes, unit="B")
        if have >= manifest.bytes or (settled and sum(there) <= settled):
            return
        if have != before:
            before, moved_at = have, time.monotonic()
        time.sleep(POLL_S)


def fetch(manifest: Manifest, mounted: str, root: str, progress: Callable[..., None]) -> None:
    """Open every file that is not below `root` through the mount at `mounted`: a file cache downloads it whole in
    there. What cannot be had stays missing, and is named by the verdict."""
    missing = [e for e in manifest.entries if allocated(os.path.join(root, e.path)) < e.size]
    done, total = 0, sum(entry.size for entry in missing)
    with ThreadPoolExecutor(FETCHERS) as pool:
        for entry, _ in zip(missing, pool.map(lambda e: _touch(os.path.join(mounted, e.path)), missing), strict=True):
            done += entry.size
            progress("loading the data set into the file cache", done=done, total=total, unit="B")


def _touch(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return len(file.read(1)) == 1
    except OSError:
        return False


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
    todo = [path for path, fact in facts.items() if fact and not _same(known.get(path), fact)]
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


def _same(known: Mapping[str, Any] | None, fact: list[int]) -> bool:
    """Whether a file was read, and is as it was then."""
    return known is not None and known.get("stat") == fact and bool(known.get("sha256"))


def _known(mount: str, manifest: Manifest, binding: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    text = door.read(record_path(mount))
    try:
        record = json.loads(text) if text else {}
    except ValueError:
        return {}  # cut off by a power failure: hash again
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
    """A file's SHA-256, or "" when it cannot be read (any more)."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            while block := file.read(READ_BYTES):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
