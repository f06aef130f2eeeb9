"""What was seen, kept: evidence/<cluster>/<UTC>/ holds contract, facts, plans, measurements, verdicts and the
report."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.log import masked
from scripts.places import write


class Evidence:
    """One run's folder. What is noted waits in memory until `keep`: a run that only finds old answers valid leaves
    none."""

    def __init__(self, parent: Path, now: float | None = None) -> None:
        self._parent, self._now = parent, now
        self._waiting: dict[str, str] = {}
        self.folder: Path | None = None

    def note(self, name: str, value: Mapping[str, Any] | list[Any] | str) -> None:
        """Given a name such as `facts/gpu-0.json` and JSON values or text, remember it; at once if the folder is
        there."""
        text = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True) + "\n"
        self._waiting[name] = masked(text)
        if self.folder is not None:
            self.keep()

    def keep(self) -> Path:
        """Write everything noted so far and return the folder."""
        if self.folder is None:
            self.folder = self._make()
        for name, text in self._waiting.items():
            write(self.folder / name, text)
        self._waiting.clear()
        return self.folder

    def files(self) -> dict[str, bytes]:
        """Return everything in the folder: path below it → content."""
        folder = self.keep()
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
        }

    def _make(self) -> Path:
        stamp = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(self._now))
        for number in range(1, 100):
            folder = self._parent / (stamp if number == 1 else f"{stamp}-{number}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            return folder
        raise FileExistsError(self._parent / stamp)
