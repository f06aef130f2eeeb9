"""The gates' last answers, kept on the operator's machine between runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from feedline.errors import OperationError
from feedline.handoff import Record
from scripts.places import write


@dataclass(frozen=True)
class State:
    """One cluster's records: a file for each gate."""

    folder: Path

    def load(self, gate: str) -> Record | None:
        """Given a gate, return its last record, or None. Raise OperationError if the file is damaged."""
        file = self.folder / f"{gate}.json"
        if not file.exists():
            return None
        try:
            raw = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise OperationError(
                f"cannot be read: {error}", where=str(file), hint="delete it; the gate is measured again"
            ) from error
        return Record.from_dict(raw, where=str(file))

    def save(self, record: Record) -> None:
        """Given a record, keep it as its gate's last answer."""
        write(self.folder / f"{record.gate}.json", json.dumps(record.as_dict(), indent=1, sort_keys=True) + "\n")

    def forget(self, gate: str) -> None:
        """Given a gate whose nodes are about to be changed, drop its answer: an interrupted change leaves no old
        PASS behind."""
        (self.folder / f"{gate}.json").unlink(missing_ok=True)
