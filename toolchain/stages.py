"""`./run tests`: the stages in order, the time of each, and an exit code that is 0 only if every one passed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from toolchain.context import Context
from toolchain.env import sandbox_env
from toolchain.errors import SetupError

TIERS = ("unit", "doors", "engine", "rehearsal", "docs")
NAMES = ("lint", *TIERS)
LINTERS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
)


@dataclass(frozen=True)
class Outcome:
    """How one command of a stage ended."""

    name: str
    code: int
    seconds: float


def split(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Given the words after `./run tests`, return the stage and pytest's arguments, or None for all stages.

    Raise SetupError if the first word is no stage: what is meant for one tier must not run, or select nothing, in all.
    """
    if not words:
        return None, []
    if words[0] not in NAMES:
        raise SetupError(
            f"{words[0]!r} is no stage of the tests",
            "arguments for pytest belong to one stage",
            f"name one of {', '.join(NAMES)} first: ./run tests unit -k WORD",
        )
    return words[0], list(words[1:])


def run(context: Context, only: str | None, pytest_args: Sequence[str]) -> int:
    """Given one stage or None for all, run it and return 0 only if every command of it did.

    All stages run even if an early one fails: one run shows everything that is wrong.
    """
    outcomes: list[Outcome] = []
    for name in [only] if only else NAMES:
        for title, argv in commands_of(context, name, pytest_args):
            outcomes.append(_run_one(context, name, title, argv))
    print("\nstage                  result      time")
    for outcome in outcomes:
        result = "passed" if outcome.code == 0 else f"exit {outcome.code}"
        print(f"{outcome.name:<22} {result:<10} {outcome.seconds:6.1f} s")
    return 0 if all(outcome.code == 0 for outcome in outcomes) else 1


def commands_of(context: Context, stage: str, pytest_args: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Given a stage, return its commands with the title that each has in the summary."""
    programs = context.venv / "bin"
    if stage == "lint":
        return [(" ".join(words[:2]).strip(" ."), [str(programs / words[0]), *words[1:]]) for words in LINTERS]
    # pytest's exit code 5 (no test found) stays a failure: a tier that runs nothing proves nothing.
    # Files share nothing, so every core takes some; only the rehearsal has one sandbox for all.
    spread = [] if stage == "rehearsal" else ["-n", "auto", "--dist", "loadfile"]
    argv = [str(context.python), "-m", "pytest", f"tests/{stage}", *spread, *pytest_args]
    return [(f"tests/{stage}", argv)]


def _run_one(context: Context, stage: str, title: str, argv: list[str]) -> Outcome:
    print(f"\n── {title}", flush=True)
    # These need no sandbox and must not see one.
    alone = stage in ("lint", "unit", "doors")
    environment = dict(os.environ) if alone else {**os.environ, **sandbox_env(context.checkout)}
    # pytest's rewritten modules are compiled once and kept, also where the machine asks Python to write no bytecode.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(context.checkout / ".feedline" / "pycache")
    began = time.monotonic()
    code = subprocess.run(argv, cwd=context.checkout, env=environment, check=False).returncode
    return Outcome(title, code, time.monotonic() - began)
