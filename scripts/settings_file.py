"""A stack's settings, read from its file: for what is asked before there is a stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from feedline.errors import OperationError
from feedline.settings import Settings

NATIVE = {"azure-native:location": "location", "azure-native:subscriptionId": "subscription_id"}


def read(checkout: Path, stack: str) -> Settings:
    """Given the checkout and a stack, return its settings. Raise OperationError, or SettingsError with every
    problem."""
    import yaml

    file = checkout / f"Pulumi.{stack}.yaml"
    try:
        document = yaml.safe_load(file.read_text())
    except OSError as error:
        known = sorted(path.name.split(".")[1] for path in checkout.glob("Pulumi.*.yaml"))
        raise OperationError(
            f"cannot be read: {error.strerror}", where=file.name, hint=f"--stack is one of {', '.join(known)}"
        ) from error
    except yaml.YAMLError as error:
        raise OperationError(f"is no YAML: {error}", where=file.name, hint="mend it; the line is named") from error
    found: dict[str, Any] = {}
    for key, value in ((document or {}).get("config") or {}).items():
        if key in NATIVE:
            found[NATIVE[key]] = value
        elif key.startswith("feedline:"):
            found[key.removeprefix("feedline:")] = value
    return Settings.parse(found, where=file.name)
