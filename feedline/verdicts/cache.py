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
EVICTS_AT = 0.80
"""file_cache.high-threshold, BlobFuse2's default: at this share of its limit it starts to throw files out."""

LOADS_AGAIN = ("CACHE_INCOMPLETE", "CACHE_SPARSE", "CACHE_WRONG_HASH", "DATASET_NOT_SEALED")
"""What mounting anew repairs: a stopped BlobFuse2 wipes its cache and forgets what it knew about names, a started one
loads."""


@dataclass(frozen=True)
class Cached:
    """One file of the cache: its length, the bytes allocated for it (st_blocks * 512), its SHA-256 ("" = not read)."""

    size: int
    allocated: int
    sha256: str


@dataclass(frozen=True)
class Sealed:
    """The data set as seen through a mount: its manifest, or None with the reason code and what was found instead."""

    manifest: Manifest | None
    reason: str = "OK"
    why: str = ""


def judge_mount(mount: Mount, facts: MountFacts, node: str, *, config_sha256: str) -> list[Verdict]:
    """Given a mount, its facts and the hash of the configuration it should have, return the verdicts on the mount
    itself and on its cache."""
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
    other = not facts.config_sha256 == facts.loaded_config == config_sha256
    hint = f"fab cache; the contract says {mount.cache}" if moved else "fab cache: it writes the file and mounts anew"
    disk = Verdict(
        "cache",
        f"cache disk of {mount.name}",
        node,
        Status.FAIL if wrong or moved or other else Status.PASS,
        "CACHE_ON_OS_DISK" if wrong else "CONFIG_CHANGED" if moved or other else "OK",
        f"caches in {facts.cache_path} on device {facts.cache_device}"
        + (", the device of /" if wrong else "")
        + (f"; {facts.config_path} or what its daemon was started from is not the contract's" if other else ""),
        "fab nvme, then fab cache" if wrong else hint if moved or other else "",
    )
    return [there, disk]


def judge_presence(
    mount: Mount, sealed: Sealed, files: Mapping[str, Cached], node: str, *, limit_bytes: int | None = None
) -> Verdict:
    """Given the data set as seen through the mount, the cache's files by path and the cache's limit (None = none),
    return the verdict.

    Length alone proves nothing: a sparse file has it, too. What counts are allocated blocks and the hash of what is
    read.
    """
    check, manifest = f"data set on NVMe ({mount.name})", sealed.manifest
    if manifest is None:
        hint = "fab ingest, then fab cache" if sealed.reason == "DATASET_NOT_SEALED" else "fab access, then fab cache"
        return Verdict("cache", check, node, Status.FAIL, sealed.reason, sealed.why, hint)
    if not fits(manifest, limit_bytes):
        return Verdict(
            "cache",
            check,
            node,
            Status.FAIL,
            "CACHE_TOO_SMALL",
            f"{human_bytes(manifest.bytes)} do not stay in a cache of {human_bytes(limit_bytes or 0)}: at "
            f"{EVICTS_AT:.0%} of that it throws files out, and every epoch downloads again",
            "a size with more local NVMe, or a smaller data set; `fab size` shows the feed plan",
            evidence={"manifest_digest": manifest.digest},
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


def fits(manifest: Manifest, limit_bytes: int | None) -> bool:
    """Whether a data set can stay in a cache with this limit (bytes, None = none)."""
    return limit_bytes is None or manifest.bytes <= limit_bytes * EVICTS_AT


def _named(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"{what}: {', '.join(names[:SHOWN])}{more}"]
