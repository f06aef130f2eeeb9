"""blkid: is there anything on a disk? Probed, never from its cache: a cached answer may be about yesterday's disk."""

from __future__ import annotations

BLANK = 2
"""Exit code of `blkid --probe` when it found nothing; 8 = several signatures at once."""


def probe(path: str) -> tuple[str, ...]:
    """Given a device, return the argv that looks for file systems, RAID members and partition tables on it."""
    return ("blkid", "--probe", "--output", "export", path)


def signature(rc: int, out: str) -> tuple[str | None, str]:
    """Given how `probe` ended and what it said, return (signature, label): "" = blank, None = not known.

    Only a clear "nothing" counts as blank: an ambivalent answer or an error is not known.
    """
    if rc == BLANK and not out.strip():
        return "", ""
    tags = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    if rc != 0:
        return None, ""
    return tags.get("TYPE") or tags.get("PTTYPE") or None, tags.get("LABEL", "")
