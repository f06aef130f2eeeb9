"""The sandbox's own PULUMI_HOME: it holds the simulated azure-native plugin, so no real cloud program ever finds it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from toolchain import commands, files
from toolchain.context import Context, Tool
from toolchain.env import pulumi_home, pulumi_state, sandbox_env
from toolchain.errors import SetupError

PROVIDER = "sandbox.provider"
PLUGIN = "azure-native"


def ensure(context: Context) -> Tool:
    """Put the plugin where the engine looks for exactly the version that the SDK's wheel asks for; return it."""
    home = pulumi_home(context.checkout)
    version = wheel_version(context)
    shim = home / "plugins" / f"resource-{PLUGIN}-v{version}" / f"pulumi-resource-{PLUGIN}"
    for other in (home / "plugins").glob(f"resource-{PLUGIN}-v*"):
        if other != shim.parent:
            files.remove(other)  # of an older wheel
    files.write_atomically(shim, shim_text(context), 0o755)
    pulumi_state(context.checkout).mkdir(parents=True, exist_ok=True)
    return Tool(PLUGIN, version, "simulated by sandbox/provider", shim)


def shim_text(context: Context) -> str:
    """Return the plugin: it becomes the provider of this checkout. -P: nothing comes from the program's folder."""
    checkout, python = shlex.quote(str(context.checkout)), shlex.quote(str(context.python))
    return f'#!/bin/sh\nPYTHONPATH={checkout} exec {python} -P -u -m {PROVIDER} "$@"\n'


def wheel_version(context: Context) -> str:
    """Return the plugin version that pulumi_azure_native asks for. Raise SetupError if it is not there."""
    found = list(context.venv.glob("lib/python3*/site-packages/pulumi_azure_native/pulumi-plugin.json"))
    if not found:
        raise SetupError("pulumi_azure_native is not in .venv", "it declares Azure's resources", "run ./run setup")
    return str(json.loads(found[0].read_text())["version"]).removeprefix("v")


def select_stack(context: Context, stack: str = "sandbox") -> None:
    """Make the stack exist in the sandbox's backend and be the selected one. Raise SetupError if Pulumi refuses."""
    environment = {**os.environ, **sandbox_env(context.checkout)}
    pulumi = next(
        (folder / "pulumi" for folder in map(Path, environment["PATH"].split(":")) if (folder / "pulumi").exists()),
        "pulumi",
    )
    commands.run(
        [pulumi, "stack", "select", "--create", "--non-interactive", stack],
        "pulumi and fab find the simulated cluster by its stack",
        "read Pulumi's own words above; `./run rehearsal` starts from an empty state",
        cwd=context.checkout,
        env=environment,
    )
