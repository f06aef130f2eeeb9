"""Where the runbook keeps things on the operator's machine."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Places:
    """The sources of one checkout, and the folder below which state and evidence are kept (usually the same; or
    FEEDLINE_HOME). Nothing in them is secret, and all of `.feedline` can be made again."""

    checkout: Path = CHECKOUT
    data: Path = CHECKOUT

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Places:
        """Given an environment, return this checkout's places."""
        return cls(CHECKOUT, Path(environ.get("FEEDLINE_HOME") or CHECKOUT).absolute())

    @property
    def home(self) -> Path:
        return self.data / ".feedline"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def bundles(self) -> Path:
        """What is sent to nodes, by content."""
        return self.home / "bundles"

    def state(self, cluster: str) -> Path:
        """Given a cluster, return the folder of its gates' last answers."""
        return self.home / "state" / _safe(cluster)

    def known_hosts(self, cluster: str) -> Path:
        """Given a cluster, return the file of its nodes' SSH host keys, by VM id."""
        return self.home / "known_hosts" / _safe(cluster)

    def evidence(self, cluster: str) -> Path:
        """Given a cluster, return the folder of everything that was ever measured on it."""
        return self.data / "evidence" / _safe(cluster)

    def short(self, path: Path) -> str:
        """Given a path, return it as people read it: from the folder of state and evidence on, if it is below it."""
        return str(path.relative_to(self.data)) if path.is_relative_to(self.data) else str(path)


def _safe(name: str) -> str:
    """A cluster's name comes from a contract that anyone may have written: it never leads out of its folder."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_"


def write(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Given a path and its content, write it atomically; a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
