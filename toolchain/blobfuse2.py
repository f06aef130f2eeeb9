"""Which BlobFuse2 the sandbox will use: the real program where there is one, else the stand-in."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from toolchain import commands
from toolchain.context import Tool
from toolchain.errors import SetupError

STAND_IN = "sandbox/standins/blobfuse2 (no real BlobFuse2 on this machine: reports will say so)"


def find(environ: Mapping[str, str] = os.environ) -> Tool:
    """Given an environment, return the BlobFuse2 in use; `path` is None for the stand-in.

    Raise SetupError if FEEDLINE_BLOBFUSE2 names no working program.
    """
    chosen = environ.get("FEEDLINE_BLOBFUSE2")
    found = chosen or shutil.which("blobfuse2", path=environ.get("PATH"))
    if not found:
        return Tool("blobfuse2", "stand-in", STAND_IN)
    # It may print a log line with other numbers before its version: take the number after its own name.
    said = re.search(r"blobfuse2 version:? *v?(\d+\.\d+\.\d+)", commands.output_of([found, "--version"]) or "")
    if said:
        source = f"FEEDLINE_BLOBFUSE2: {found}" if chosen else f"on PATH: {found}"
        return Tool("blobfuse2", said.group(1), source, Path(found))
    if chosen:
        raise SetupError(
            f"FEEDLINE_BLOBFUSE2={chosen} does not answer `--version` as BlobFuse2 does",
            "nodes would install that program",
            "correct the path, or unset the variable to use the stand-in",
        )
    return Tool("blobfuse2", "stand-in", f"{STAND_IN}; {found} does not answer --version")
