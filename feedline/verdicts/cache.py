"""Is every byte of the sealed data set really on the NVMe - allocated and right, not just as long as it should be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedline.contract import Mount
from feedline.facts import MountFacts
from feedline.manifest import Manifest
from feedline.units import human_bytes
from feedline.verdict import Status, Verdict

SHOWN = 5


@dataclass(frozen=True)
class Cached:
    """One file of the cache: its length, the bytes allocated for it (st_blocks * 512), its SHA-256 ("" = not read)."""

    size: int
    allocated: int
    sha256: str


def judge_mount(mount: Mount, facts: MountFacts, node: str) -> list[Verdict]:
    """Given a mount and its facts, return the verdicts on the mount itself and on the disk its cache is on."""
    state = ("mounted" if facts.mounted else "not mounted", "alive" if facts.live else "no answer")
    said = f"unit {facts.unit_active}, {', '.join(state)}"
    good = facts.mounted and facts.live and facts.unit_active == "active" and facts.read_only == mount.read_only
    there = Verdict(
        "cache",
        f"mount {mount.name}",
        node,
        Status.PASS if good else Status.FAIL,
        "OK" if good else "NOT_MOUNTED",
        f"{mount.path}: {said}",
        "" if good else f"fab cache; log: /var/log/feedline/{mount.name}.log",
        evidence=facts.as_dict(),
    )
    if not facts.mounted:
        return [there]
    wrong = facts.cache_device is None or facts.cache_device == facts.os_device
    moved = facts.cache_path != mount.cache
    disk = Verdict(
        "cache",
        f"cache disk of {mount.name}",
        node,
        Status.FAIL if wrong or moved else Status.PASS,
        "CACHE_ON_OS_DISK" if wrong else "CONFIG_CHANGED" if moved else "OK",
        f"caches in {facts.cache_path} on device {facts.cache_device}" + (", the device of /" if wrong else ""),
        "fab nvme, then fab cache" if wrong else f"fab cache; the contract says {mount.cache}" if moved else "",
    )
    return [there, disk]


def judge_presence(mount: Mount, manifest: Manifest | None, files: Mapping[str, Cached], node: str) -> Verdict:
    """Given the sealed manifest (None = not readable through the mount) and the cache's files by path, return the
    verdict.

    Length alone proves nothing: a sparse file has it, too. What counts are allocated blocks and the hash of what is
    read.
    """
    check = f"data set on NVMe ({mount.name})"
    if manifest is None:
        return Verdict(
            "cache",
            check,
            node,
            Status.FAIL,
            "DATASET_NOT_SEALED",
            "no sealed data set can be read through the mount",
            "fab ingest, then fab cache",
        )
    missing = [e.path for e in manifest.entries if e.path not in files or files[e.path].size != e.size]
    there = [e for e in manifest.entries if e.path not in set(missing)]
    sparse = [e.path for e in there if files[e.path].allocated < e.size]
    unread = [e.path for e in there if not files[e.path].sha256]
    wrong = [e.path for e in there if files[e.path].sha256 and files[e.path].sha256 != e.sha256]
    # The worst comes first; the first that holds any name is the reason.
    found = {"CACHE_INCOMPLETE": missing, "CACHE_SPARSE": sparse, "CACHE_WRONG_HASH": wrong, "NOT_HASHED": unread}
    reason = next((code for code, names in found.items() if names), "OK")
    status = {"OK": Status.PASS, "NOT_HASHED": Status.NOT_MEASURED}.get(reason, Status.FAIL)
    have = human_bytes(sum(files[e.path].allocated for e in there))
    told = [
        f"{len(there) - len(sparse)} of {manifest.count} files, {have} allocated",
        *_named("missing or short", missing),
        *_named("sparse", sparse),
        *_named("wrong SHA-256", wrong),
        *_named("not hashed", unread),
        *(["every SHA-256 equal"] if reason == "OK" else []),
    ]
    evidence = {
        "missing": missing[:SHOWN],
        "sparse": sparse[:SHOWN],
        "wrong": wrong[:SHOWN],
        "manifest_digest": manifest.digest,
    }
    return Verdict(
        "cache",
        check,
        node,
        status,
        reason,
        "; ".join(told),
        "" if reason == "OK" else "fab cache: it loads what is missing",
        len(there),
        manifest.count,
        manifest.count,
        "files",
        evidence,
    )


def _named(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"{what}: {', '.join(names[:SHOWN])}{more}"]
