"""actionlint, which checks the workflows: on PATH, else built from its Go module (seconds)."""

from __future__ import annotations

import shutil
from pathlib import Path

from toolchain import commands, files, golang
from toolchain.context import Context, Tool
from toolchain.versions import FOLDER, first_version, pinned

WHY = "it checks .github/workflows: a pipeline that does not run checks nothing"


def ensure(context: Context) -> Tool:
    """Return actionlint of the pinned version, building it once if need be."""
    wanted = pinned()["actionlint"]
    version = wanted["version"]
    found = shutil.which("actionlint")
    if found and first_version(commands.output_of([found, "-version"]) or "") == version:
        return Tool("actionlint", f"v{version}", f"on PATH: {found}", Path(found))
    program = program_of(context)
    with files.exclusive(context.cache / "locks" / "actionlint", f"actionlint v{version}"):
        if not program.exists():
            context.say(f"building actionlint v{version} from its Go module (once; about 20 seconds)")
            with files.appearing(program.parent) as fresh:
                commands.run(
                    [golang.program(context), "build", "-trimpath", "-o", fresh / program.name, wanted["module"]],
                    WHY,
                    "check that the Go module proxy can be reached (`go env GOPROXY`)",
                    cwd=FOLDER / "actionlint",
                    env={"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"},
                )
    return Tool("actionlint", f"v{version}", "registry: built from its Go module", program)


def program_of(context: Context) -> Path:
    """Return where the cache keeps the pinned version."""
    return context.cache / "actionlint" / f"v{pinned()['actionlint']['version']}" / "actionlint"
