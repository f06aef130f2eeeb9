"""Which Python runs a program or plugin, what that Python has installed, and the command lines that start it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from pulumi.runtime.proto import language_pb2, plugin_pb2

# Asked of the program's own Python, which may not be the host's.
PLUGINS = """
import importlib.metadata, json
found = [json.loads(file.locate().read_text()) for dist in importlib.metadata.distributions()
         for file in dist.files or () if file.name == "pulumi-plugin.json"]
print(json.dumps(found))
"""
DISTRIBUTIONS = """
import importlib.metadata, json
print(json.dumps(sorted({d.name: d.version for d in importlib.metadata.distributions()}.items())))
"""
VERSION = "import json, platform; print(json.dumps(platform.python_version()))"


class NoPython(RuntimeError):
    """The program's Python is not there or does not answer."""


def python_of(info: language_pb2.ProgramInfo) -> str:
    """Given a program's info, return its Python: the one of its `virtualenv` option, else the one on PATH."""
    options: dict[str, Any] = json_format.MessageToDict(info.options)
    virtualenv = options.get("virtualenv")
    if not virtualenv:
        return os.environ.get("PULUMI_PYTHON_CMD", "python3")
    # pathlib: an absolute option wins over the root.
    python = Path(info.root_directory, virtualenv, "bin", "python")
    if not python.exists():
        raise NoPython(f"the virtualenv {virtualenv!r} of {info.root_directory} has no bin/python: run ./run setup")
    return str(python)


def ask(python: str, script: str) -> Any:
    """Given a Python and a script that prints JSON, return what it printed. Raise NoPython if it fails."""
    try:
        done = subprocess.run(
            [python, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoPython(f"{python} cannot be asked what it has installed: {error}") from error
    if done.returncode:
        raise NoPython(f"{python} cannot say what it has installed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def required_packages(python: str) -> list[plugin_pb2.PackageDependency]:
    """Given a program's Python, return the resource plugins that its packages ask for (their pulumi-plugin.json)."""
    return [
        plugin_pb2.PackageDependency(
            name=plugin["name"],
            version="v" + plugin.get("version", "").removeprefix("v") if plugin.get("version") else "",
            kind="resource",
            server=plugin.get("server", ""),
        )
        for plugin in ask(python, PLUGINS)
        if plugin.get("resource") and plugin.get("name")
    ]


def program_argv(request: language_pb2.RunRequest, engine: str, runner: Path) -> list[str]:
    """Given a Run request, return the command that runs the program through the SDK's own runner."""
    options = {
        "monitor": request.monitor_address,
        "engine": engine,
        "project": request.project,
        "root_directory": request.info.root_directory,
        "stack": request.stack,
        "pwd": request.pwd,
        "dry_run": "true" if request.dryRun else "false",
        "parallel": str(request.parallel),
        "organization": request.organization,
    }
    words = [word for name, value in options.items() if value for word in (f"--{name}", value)]
    # The folder of the program, or the `main` below it, comes as program_directory + entry_point.
    entry = str(Path(request.info.program_directory, request.info.entry_point or "."))
    return [python_of(request.info), "-u", str(runner), *words, entry, *request.args]


def program_env(request: language_pb2.RunRequest, environ: Mapping[str, str]) -> dict[str, str]:
    """Given a Run request and our environment, return the program's, with the configuration as the SDK expects it."""
    return {
        **environ,
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
        "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
    }


def plugin_argv(request: language_pb2.RunPluginRequest) -> list[str]:
    """Given a RunPlugin request for a source plugin, return the command that starts it."""
    return [python_of(request.info), "-u", request.info.program_directory, *request.args]


def pack_argv(request: language_pb2.RunPluginRequest) -> list[str]:
    """Given a RunPlugin request for a policy pack, return the command that starts it."""
    python = python_of(request.info)
    return [python, "-u", "-m", "pulumi.policy", *request.args, request.info.program_directory]


def plugin_env(request: language_pb2.RunPluginRequest, environ: Mapping[str, str]) -> dict[str, str]:
    """Given a RunPlugin request and our environment, return the plugin's."""
    return {**environ, **dict(entry.split("=", 1) for entry in request.env)}
