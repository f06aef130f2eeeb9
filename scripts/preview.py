"""`python -m scripts.preview STACK [--summary FILE]`: the preview under the policy pack, as pipelines run it.

Prints the page (docs/runbooks/pipelines.md shows one) and adds it to FILE; exit 0 = it may be applied, 2 = a policy
refuses it, 1 = it could not be previewed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from feedline.errors import OperationError
from feedline.render.preview import Preview, markdown, read
from scripts.places import CHECKOUT
from scripts.task import guarded

STREAM = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}


def preview(stack: str, flags: list[str]) -> Preview:
    """Given a stack and further flags of `pulumi preview`, return what the engine said.

    Raise OperationError when Pulumi is missing or says nothing that can be read.
    """
    argv = ["preview", "--stack", stack, "--policy-pack", "policies", "--json", "--non-interactive", *flags]
    with streamed(stack, argv) as (events, process):
        found = read(events)
    if process.returncode and found.result == Preview().result:
        raise OperationError(
            f"pulumi ended with {process.returncode} before it previewed anything",
            where=f"stack {stack}",
            hint="its own words are above; `pulumi stack ls` lists the stacks there are",
        )
    return found


@contextmanager
def streamed(stack: str, argv: Sequence[str]) -> Iterator[tuple[Iterator[dict[str, Any]], subprocess.Popen[str]]]:
    """Given a stack and arguments of pulumi with --json, yield the engine's events as they come and the process, which
    has ended after the block. Raise OperationError without Pulumi."""
    try:
        process = subprocess.Popen(
            ["pulumi", *argv],
            cwd=CHECKOUT,
            env={**os.environ, **STREAM},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError as error:
        raise OperationError("pulumi is not on PATH", where=stack, hint="./run shell, or install Pulumi") from error
    with process:
        assert process.stdout is not None
        yield _events(process.stdout), process


def _events(stream: IO[str]) -> Iterator[dict[str, Any]]:
    for line in stream:
        try:
            event = json.loads(line)
        except ValueError:
            print(line, end="", file=sys.stderr)  # a word of Pulumi's that is no event
            continue
        if isinstance(event, dict):
            yield event


def main(argv: list[str]) -> int:
    """Given the command line, preview and return the exit code."""
    parser = argparse.ArgumentParser(prog="preview", description="A stack's preview under the policy pack, as a page.")
    parser.add_argument("stack")
    parser.add_argument("--summary", type=Path, help="add the page to this file (GITHUB_STEP_SUMMARY)")
    options, flags = parser.parse_known_args(argv)

    def work() -> int:
        found = preview(options.stack, flags)
        page = markdown(options.stack, found)
        print(page)
        if options.summary:
            with options.summary.open("a") as file:
                file.write(page)
        return 2 if found.refused else 0 if found.result == "succeeded" else 1

    return guarded("preview", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
