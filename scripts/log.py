"""One log file a run: what was asked of which node, and what it said on stderr. Things that look like credentials
are masked."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

_SECRETS = re.compile(
    r"((?:sig|signature|access_token|AccountKey)[\"']?\s*[=:]\s*[\"']?)[^&\s\"']+|(eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]+)?)",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Given text, return it without SAS signatures, account keys and tokens."""
    return _SECRETS.sub(lambda m: f"{m[1]}***" if m[1] else "***", text)


class Log:
    """Appends to one file; made at the first note."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()

    def note(self, head: str, body: str = "") -> None:
        """Given a line and a body of text, append both with the time (UTC)."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = masked(f"{stamp} {head}\n" + "".join(f"    {line}\n" for line in body.splitlines()))
        with self._lock:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as file:
                file.write(text)
