"""The manifest of a data set: every file with its size and hashes, and one hash over all of it. Written once, then
sealed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from feedline.errors import OperationError

VERSION = 1


@dataclass(frozen=True, order=True)
class Entry:
    """A file: its path below the data set's prefix, size in bytes, MD5 (what the service stores) and SHA-256, both as
    hex."""

    path: str
    size: int
    md5: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All entries of one data set, sorted by path."""

    dataset: str
    entries: tuple[Entry, ...]

    @property
    def count(self) -> int:
        """How many files."""
        return len(self.entries)

    @property
    def bytes(self) -> int:
        """How many bytes in all."""
        return sum(entry.size for entry in self.entries)

    @property
    def digest(self) -> str:
        """SHA-256 over every entry: what the seal, the presence record and the feed verdict are bound to."""
        canonical = "\n".join(f"{e.path}\0{e.size}\0{e.md5}\0{e.sha256}" for e in self.entries)
        return hashlib.sha256(f"{self.dataset}\0{canonical}".encode()).hexdigest()

    def dumps(self) -> str:
        """Return the manifest as JSON text, the same bytes for the same data set."""
        files = [asdict(entry) for entry in self.entries]
        head = {
            "version": VERSION,
            "dataset": self.dataset,
            "count": self.count,
            "bytes": self.bytes,
            "digest": self.digest,
        }
        return json.dumps({**head, "files": files}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def of(cls, dataset: str, entries: Iterable[Entry]) -> Manifest:
        """Given a data set's name and its entries in any order, return the manifest."""
        return cls(dataset, tuple(sorted(entries)))

    @classmethod
    def loads(cls, text: str, *, where: str = "manifest") -> Manifest:
        """Given JSON text, return the manifest. Raise OperationError if it is not one, or if it does not match its
        own hash."""
        try:
            raw: Mapping[str, Any] = json.loads(text)
            if raw["version"] != VERSION:
                raise OperationError(
                    f"version {raw['version']!r}, this release reads {VERSION}", where=where, hint="update Feedline"
                )
            manifest = cls.of(
                raw["dataset"], (Entry(f["path"], int(f["size"]), f["md5"], f["sha256"]) for f in raw["files"])
            )
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise OperationError(
                f"not a manifest: {error!r}", where=where, hint="ingest the data set again under a new name"
            ) from error
        if manifest.digest != raw.get("digest"):
            raise OperationError(
                "its entries do not match its own hash: it was edited or damaged",
                where=where,
                hint="do not trust this data set; ingest it again under a new name",
            )
        return manifest


@dataclass(frozen=True)
class Difference:
    """How a listing differs from the manifest; each field names paths below the data set's prefix."""

    missing: tuple[str, ...]
    extra: tuple[str, ...]
    wrong_size: tuple[str, ...]
    wrong_hash: tuple[str, ...]
    no_hash: tuple[str, ...]

    def __bool__(self) -> bool:
        return any((self.missing, self.extra, self.wrong_size, self.wrong_hash, self.no_hash))


def compare(manifest: Manifest, listed: Mapping[str, tuple[int, str]]) -> Difference:
    """Given a manifest and what the service lists (path → size in bytes, stored MD5 as hex or ""), return the
    differences."""
    wanted = {entry.path: entry for entry in manifest.entries}
    both = [entry for path, entry in wanted.items() if path in listed]
    same_size = [entry for entry in both if listed[entry.path][0] == entry.size]
    return Difference(
        missing=tuple(path for path in wanted if path not in listed),
        extra=tuple(sorted(path for path in listed if path not in wanted)),
        wrong_size=tuple(entry.path for entry in both if listed[entry.path][0] != entry.size),
        wrong_hash=tuple(e.path for e in same_size if listed[e.path][1] and listed[e.path][1] != e.md5),
        no_hash=tuple(e.path for e in same_size if not listed[e.path][1]),
    )
