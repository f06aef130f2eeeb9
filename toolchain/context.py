"""What every step of the setup needs to know: the checkout, the cache, the route and how to speak."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.layout import Layout
from toolchain.errors import SetupError

ROUTES = ("auto", "official", "registry")


@dataclass(frozen=True)
class Tool:
    """One line of the setup's report: what, which version, where from."""

    name: str
    version: str
    source: str
    path: Path | None = None

    @property
    def line(self) -> str:
        """Return how the setup reports it."""
        return f"  {self.name:<16} {self.version:<18} {self.source}"


@dataclass(frozen=True)
class Context:
    """Where things are and which route downloads take."""

    checkout: Path
    cache: Path
    route: str = "auto"

    @classmethod
    def of(cls, checkout: Path, environ: Mapping[str, str] = os.environ) -> Context:
        """Given a checkout and an environment, return its context. Raise SetupError if the route is unknown."""
        route = environ.get("FEEDLINE_TOOLCHAIN") or "auto"
        if route not in ROUTES:
            raise SetupError(
                f"FEEDLINE_TOOLCHAIN={route!r} is not one of {', '.join(ROUTES)}",
                "it chooses where missing tools come from",
                "unset it, or set it to registry to use package registries only",
            )
        return cls(checkout.resolve(), Layout.of(checkout).cache, route)

    @property
    def venv(self) -> Path:
        """Return the checkout's own virtual environment."""
        return self.checkout / ".venv"

    @property
    def python(self) -> Path:
        """Return the venv's Python: absolute, and not resolved to the interpreter behind it."""
        return self.venv / "bin" / "python"

    def say(self, text: str) -> None:
        """Given a sentence about slow work that starts now, show it at once (stderr: stdout may be somebody's JSON)."""
        print(f"  … {text}", file=sys.stderr, flush=True)
