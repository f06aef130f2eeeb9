"""The SSH key with which the operator enters simulated nodes: this checkout's own, and never used anywhere else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from toolchain import commands
from toolchain.context import Context, Tool
from toolchain.env import operator_key


def ensure(context: Context) -> Tool:
    """Make the key at first use, and return it. An existing one stays: running nodes know it."""
    key = operator_key(context.checkout)
    public = key.with_suffix(".pub")
    source = f"already here: {key}"
    if not (key.exists() and public.exists()):
        key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=key.parent, prefix=".new-") as fresh:
            made = Path(fresh, key.name)
            # An empty passphrase: whoever can read this file is root on the machine that runs the sandbox anyway.
            argv: list[str | Path] = [
                "ssh-keygen",
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                "feedline-sandbox",
                "-f",
                made,
            ]
            commands.run(argv, "nodes are entered by SSH", "apt-get install openssh-client")
            os.replace(made.with_suffix(".pub"), public)
            os.replace(made, key)  # last: the key is there only with its public half
        source = f"made now: {key}"
    return Tool("operator key", "ed25519", source, key)
