"""Did everything arrive? Judged from the service's own listing and from bytes read back, never from AzCopy's exit
code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from feedline.manifest import Manifest, compare
from feedline.units import human_bytes
from feedline.verdict import Status, Verdict, bounded

SHOWN = 5


def judge(
    manifest: Manifest, listed: Mapping[str, tuple[int, str]], read_back: Mapping[str, str], node: str
) -> list[Verdict]:
    """Given the manifest, the listing (path → size in bytes, stored MD5 hex) and the SHA-256 of the blobs that were
    read back (path → hex), return the verdicts on count, bytes, stored hashes and content."""
    difference = compare(manifest, listed)
    hint = (
        "the store no longer holds what was ingested: find out who changed it (`StorageDelete`, `StorageWrite` logs), "
        "then ingest "
        "again under a new data set name"
    )
    lost = {"missing": list(difference.missing[:SHOWN]), "extra": list(difference.extra[:SHOWN]), "listed": len(listed)}
    count = Verdict(
        "ingest",
        "blob count",
        node,
        Status.FAIL if difference.missing or difference.extra else Status.PASS,
        "MISSING_BLOBS" if difference.missing else "EXTRA_BLOBS" if difference.extra else "OK",
        f"{manifest.count - len(difference.missing)} of {manifest.count} blobs"
        + _named(", missing: ", difference.missing)
        + _named(", not in the manifest: ", difference.extra),
        hint if difference.missing or difference.extra else "",
        manifest.count - len(difference.missing),
        manifest.count,
        manifest.count,
        "blobs",
        lost,
    )
    size = sum(listed[e.path][0] for e in manifest.entries if e.path in listed)
    total = bounded(
        "ingest",
        "bytes",
        node,
        value=size,
        lower=manifest.bytes,
        upper=manifest.bytes,
        unit="B",
        reason="WRONG_SIZE",
        message=f"{human_bytes(size)} of {human_bytes(manifest.bytes)}"
        + _named(", wrong size: ", difference.wrong_size),
        hint=hint,
    )
    hashes = Verdict(
        "ingest",
        "stored MD5",
        node,
        Status.FAIL if difference.wrong_hash or difference.no_hash else Status.PASS,
        "WRONG_HASH" if difference.wrong_hash else "NO_HASH" if difference.no_hash else "OK",
        "stored hashes match the manifest"
        if not (difference.wrong_hash or difference.no_hash)
        else "stored hashes differ"
        + _named(": ", difference.wrong_hash)
        + _named(", none stored: ", difference.no_hash),
        hint if difference.wrong_hash or difference.no_hash else "",
        evidence={"wrong": list(difference.wrong_hash[:SHOWN])},
    )
    return [count, total, hashes, _content(manifest, listed, read_back, node, hint)]


def not_ingested(dataset: str, node: str) -> Verdict:
    """Return the verdict on a data set that has no seal."""
    return Verdict(
        "ingest",
        "seal",
        node,
        Status.FAIL,
        "NOT_SEALED",
        f"data set {dataset} has no seal: it was never ingested to the end",
        "fab ingest --source FOLDER (a folder on the ingest node)",
    )


def _content(
    manifest: Manifest, listed: Mapping[str, tuple[int, str]], read_back: Mapping[str, str], node: str, hint: str
) -> Verdict:
    expected = {entry.path: entry.sha256 for entry in manifest.entries}
    wrong = tuple(sorted(path for path, digest in read_back.items() if expected.get(path) != digest))
    sampled = sum(listed[path][0] for path in read_back if path in listed)
    if not read_back:
        return Verdict(
            "ingest",
            "content read back",
            node,
            Status.NOT_MEASURED,
            "NOTHING_READ",
            "no blob was read back",
            "run `fab ingest` without --no-read-back",
        )
    part = f"{len(read_back)} of {manifest.count} blobs ({human_bytes(sampled)}) read back"
    return Verdict(
        "ingest",
        "content read back",
        node,
        Status.FAIL if wrong else Status.PASS,
        "WRONG_CONTENT" if wrong else "OK",
        part + (_named("; SHA-256 differs: ", wrong) if wrong else ", SHA-256 equal"),
        hint if wrong else "",
        evidence={"blobs": len(read_back), "bytes": sampled, "wrong": list(wrong[:SHOWN])},
    )


def _named(head: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    return head + ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
