"""From a folder on the ingest node to a sealed data set: what has to be done, or why nothing has to be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from feedline.errors import OperationError
from feedline.names import MANIFEST_BLOB, SEAL_BLOB
from feedline.plan import Plan, Step
from feedline.tools.azcopy import Job, copy_argv, resume_argv
from feedline.units import human_bytes

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_BAD_CHARACTERS = re.compile(r"[\\\x00-\x1f\x7f]")
SHOWN = 5


@dataclass(frozen=True, order=True)
class Found:
    """One entry of the source folder. `kind` is `file`, `link`, `special` or `unreadable`; size in bytes."""

    path: str
    kind: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Facts:
    """What the ingest node knows: the source as walked (None = no source given), the seal in the store (None = not
    sealed), the copy that ran before (None = never), whether the manifest on disk is of this very source, and
    AzCopy's version."""

    source: str | None
    found: tuple[Found, ...]
    sealed_fingerprint: str | None
    sealed_at: str | None
    previous: Job | None
    running: bool
    hashed: bool
    azcopy: str
    destination: str


def fingerprint(found: Sequence[Found]) -> str:
    """Given a walked source, return a hash of every path, size and modification time: the same source, the same
    value."""
    text = "\n".join(f"{f.path}\0{f.size}\0{f.mtime_ns}" for f in sorted(found) if f.kind == "file")
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def problems(dataset: str, source: str, found: Sequence[Found]) -> list[str]:
    """Given a data set's name and a walked source, return everything AzCopy would drop, rename or refuse, as sentences.

    Links, special files and unreadable folders are passed over by AzCopy with exit code 0; a backslash becomes a slash;
    a `%` in the source path itself ends the run (seen in 10.32.2).
    """
    listed = [] if _NAME.fullmatch(dataset) else [f"data set name {dataset!r}: use 1-63 of a-z, 0-9, '.' and '-'"]
    if "%" in source:
        listed.append(f"source path {source!r}: '%' is refused by AzCopy; move the folder")
    for kind, text in (
        ("link", "symbolic links are dropped without a word; replace them by the files they point to"),
        ("special", "sockets, pipes and devices would be uploaded as empty blobs; remove them"),
        ("unreadable", "cannot be read; fix owner or mode"),
    ):
        names = [f.path for f in found if f.kind == kind]
        if names:
            listed.append(f"{len(names)} {kind} ({_some(names)}): {text}")
    odd = [f.path for f in found if _BAD_CHARACTERS.search(f.path) or not _utf8(f.path)]
    if odd:
        listed.append(
            f"{len(odd)} names with backslash, control or non-UTF-8 characters "
            f"({_some([repr(n) for n in odd])}): rename them"
        )
    reserved = [f.path for f in found if f.path.split("/")[0] == "_feedline"]
    if reserved:
        listed.append(f"the folder _feedline is kept for manifest and seal ({_some(reserved)}): rename it")
    if not any(f.kind == "file" for f in found):
        listed.append(f"no files below {source}: an empty data set feeds nobody")
    return listed


def plan(facts: Facts, dataset: str, *, cap_mbps: float = 0.0) -> Plan:
    """Given the facts and the data set's name, return the steps to a sealed data set.

    Raise OperationError with all problems of the source, or when a sealed data set would have to change.
    """
    if facts.sealed_fingerprint is not None:
        if facts.source is not None and fingerprint(facts.found) != facts.sealed_fingerprint:
            raise OperationError(
                f"data set {dataset} is sealed, and {facts.source} holds something else",
                where=facts.destination,
                hint="sealed data never changes under a running job: ingest it under a new name (--dataset NAME)",
            )
        return Plan(nothing_because=f"{dataset} was sealed {facts.sealed_at}")
    if facts.source is None:
        return Plan(nothing_because="there is no source folder to ingest from (--source FOLDER on the ingest node)")
    listed = problems(dataset, facts.source, facts.found)
    if listed:
        raise OperationError(
            "\n".join(["this source cannot be ingested as it is:", *(f"  - {p}" for p in listed)]),
            where=facts.source,
            hint="nothing was changed; fix these and run `fab ingest` again",
        )
    files = [f for f in facts.found if f.kind == "file"]
    size = human_bytes(sum(f.size for f in files))
    steps = []
    if not facts.hashed:
        steps.append(
            Step.run(
                ("feedline", "hash", facts.source),
                f"hash {len(files)} files, {size}: the manifest everything is compared with",
            )
        )
    steps.append(_copy(facts, cap_mbps, size))
    steps += [
        Step.run(
            ("feedline", "verify", facts.destination),
            "compare the service's own listing with the manifest: count, bytes, hashes",
        ),
        Step.run(("feedline", "manifest", f"{facts.destination}/{MANIFEST_BLOB}"), "store the manifest with the data"),
        Step.run(
            ("feedline", "seal", f"{facts.destination}/{SEAL_BLOB}"),
            "seal: written last, only after the comparison held",
        ),
    ]
    return Plan(tuple(steps))


def _copy(facts: Facts, cap_mbps: float, size: str) -> Step:
    """Decide between attaching, resuming, going on and copying anew. A completed job is never resumed: AzCopy would
    hang."""
    assert facts.source is not None
    fresh = copy_argv(facts.azcopy, facts.source, facts.destination, overwrite="true", cap_mbps=cap_mbps)
    previous = facts.previous
    if facts.running:
        return Step.run(
            ("feedline", "attach", previous.job_id if previous else ""),
            "an upload of this data set is running: watch it to its end",
        )
    if previous is None:
        return Step.run(fresh, f"upload {size} with AzCopy as the ingest identity")
    if previous.settled and previous.succeeded:
        return Step.run(("feedline", "attach", previous.job_id), "the upload had completed: read its result")
    if previous.ordered and previous.job_id:
        return Step.run(
            resume_argv(facts.azcopy, previous.job_id, cap_mbps=cap_mbps),
            f"resume upload {previous.job_id}: it had been interrupted",
        )
    anew = copy_argv(facts.azcopy, facts.source, facts.destination, overwrite="ifSourceNewer", cap_mbps=cap_mbps)
    return Step.run(anew, "upload again: the earlier run ended while scanning and cannot be resumed")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def _utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
