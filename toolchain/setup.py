"""The steps of the setup, in order, for what is about to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolchain import (
    actionlint,
    apt,
    blobfuse2,
    files,
    node_image,
    node_js,
    operator_key,
    pulumi_cli,
    pulumi_home,
    python_deps,
)
from toolchain.context import Context, Tool

Step = Callable[[Context], Tool | list[Tool]]

STEPS: dict[str, tuple[Step, ...]] = {
    "python": (python_deps.ensure,),
    "engine": (python_deps.ensure, pulumi_cli.ensure, pulumi_home.ensure, operator_key.ensure),
    "sandbox": (
        python_deps.ensure,
        apt.ensure,
        pulumi_cli.ensure,
        pulumi_home.ensure,
        node_js.ensure,
        lambda context: blobfuse2.find(),
        node_image.ensure,
        operator_key.ensure,
        actionlint.ensure,
    ),
}


def ensure(context: Context, level: str) -> Iterator[Tool]:
    """Given a level (a key of STEPS), install what it needs and is missing, yielding each tool as it is ready.

    Safe to kill at any time and to run twice at once: each step finishes in a folder of its own and renames it.
    """
    with files.exclusive(context.checkout / ".feedline" / "setup.lock", "this checkout"):
        for step in STEPS[level]:
            done = step(context)
            yield from done if isinstance(done, list) else [done]
