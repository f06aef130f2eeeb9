"""Where Pulumi's configuration becomes Settings. The only place of the program that reads files or the environment."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi

from feedline.errors import SettingsError
from feedline.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PROXY_COMMAND = "FEEDLINE_SSH_PROXY_COMMAND"


def load() -> Settings:
    """Return the stack's settings with the public key's text filled in. Raise SettingsError with every problem."""
    where = f"Pulumi.{pulumi.get_stack()}.yaml"
    settings = Settings.parse(_mapping(), where=where)
    if settings.nodes.ssh_public_key_file:
        path = ROOT / settings.nodes.ssh_public_key_file
        if not path.is_file():
            problem = f"feedline:nodes.ssh_public_key_file: no such file: {settings.nodes.ssh_public_key_file}"
            raise SettingsError(
                [problem], where=where, hint="make a key with ssh-keygen; in the sandbox ./run shell does it"
            )
        settings = replace(settings, nodes=replace(settings.nodes, ssh_public_key=path.read_text().strip()))
    return settings


def proxy_command(settings: Settings) -> str | None:
    """Return the ProxyCommand of access mode `command`. Raise SettingsError when the environment names none."""
    if settings.network.access != "command":
        return None
    command = os.environ.get(PROXY_COMMAND)
    if not command:
        problem = f"feedline:network.access: command needs {PROXY_COMMAND} in the environment"
        raise SettingsError([problem], hint="work inside ./run shell")
    return command


def _mapping() -> dict[str, Any]:
    """Everything the stack says for us. Pulumi hands structured values over as JSON text."""
    found: dict[str, Any] = {}
    for key, value in json.loads(os.environ.get("PULUMI_CONFIG", "{}")).items():
        namespace, _, name = key.partition(":")
        if namespace == "feedline":
            found[name] = _value(value)
    native = pulumi.Config("azure-native")
    for name, key in (("location", "location"), ("subscription_id", "subscriptionId")):
        if (text := native.get(key)) is not None:
            found[name] = text
    return found


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (dict, list, bool)) else text
