"""/proc/self/mountinfo: what is mounted where. It is what findmnt reads, without findmnt's formatting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mounted:
    """One mount. `device` is `major:minor`, `point` the mount point, `options` those of the mount and of its file
    system."""

    mount_id: int
    device: str
    point: str
    options: tuple[str, ...]
    kind: str
    source: str


def parse(text: str) -> list[Mounted]:
    """Given the file's text, return its mounts in order; see proc_pid_mountinfo(5). Lines of another form are left
    out."""
    found = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        words, facts = left.split(), right.split()
        if not separator or len(words) < 6 or len(facts) < 2:
            continue
        options = (*words[5].split(","), *(facts[2].split(",") if len(facts) > 2 else ()))
        found.append(Mounted(int(words[0]), words[2], _plain(words[4]), options, facts[0], _plain(facts[1])))
    return found


def at(mounts: Sequence[Mounted], point: str, *, kind: str = "") -> Mounted | None:
    """Given mounts and a mount point, return the uppermost mount there (of a type that starts with `kind`), or None."""
    return next((m for m in reversed(mounts) if m.point == point and m.kind.startswith(kind)), None)


def _plain(word: str) -> str:
    r"""The kernel writes space, tab, newline and backslash as \040 and so on."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)
