"""The simulated Azure and the stack in it: both begin empty together."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

from feedline.errors import OperationError
from scripts.rehearsal.stages import Stages

STACK, VIOLATING = "sandbox", "violating"
VIOLATING_PROJECT = "policies/violating"
"""A project that is only ever previewed: what the policy pack has to refuse."""
PULUMI = ("--non-interactive", "--color", "never")


def empty_state(state: Path) -> None:
    """Given the folder of the sandbox's Pulumi state, empty it: a state without its cloud knows things that are not."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)


def environment(checkout: Path, home: Path) -> dict[str, str]:
    """Given a checkout and the folder that the sandbox belongs to (usually the same), return what `pulumi`, `fab` and
    the sandbox need beyond the caller's environment."""
    from sandbox import ssh_proxy
    from sandbox.layout import Layout
    from toolchain.env import sandbox_env

    layout = Layout.of(home)
    program = [sys.executable, "-S", "-E", str(ssh_proxy.__file__), str(layout.dial_socket)]
    way = {"FEEDLINE_ARM_SOCKET": str(layout.arm_socket), "FEEDLINE_SSH_PROXY_COMMAND": f"{shlex.join(program)} %h %p"}
    return {**sandbox_env(checkout), **({} if home == checkout else way)}


def init_stack(stages: Stages, stack: str, project: str = ".") -> None:
    """Given a stack and the folder of its project, make it in the empty state."""
    argv = ["pulumi", "--cwd", project, "stack", "init", stack, *PULUMI]
    stages.run(f"pulumi-init-{stack}", argv, hint="`./run setup` installs Pulumi")


def settings(stages: Stages, placement: str) -> tuple[str, ...]:
    """Given how the GPU nodes are placed, return the flags for the sandbox's settings with that; the committed file
    stays as it is."""
    import yaml

    document = yaml.safe_load((stages.checkout / f"Pulumi.{STACK}.yaml").read_text())
    if document["config"]["feedline:nodes"].get("placement", "availability_set") == placement:
        return ()
    document["config"]["feedline:nodes"]["placement"] = placement
    file = stages.checkout / ".feedline" / f"Pulumi.{STACK}.yaml"
    file.write_text(yaml.safe_dump(document))
    return ("--config-file", str(file))


def preview(stages: Stages, flags: tuple[str, ...] = ()) -> str:
    """Preview the stack under the policy pack and return the line that counts its resources."""
    argv = ["pulumi", "preview", "--stack", STACK, *flags, "--policy-pack", "policies", *PULUMI]
    _, said = stages.run("pulumi-preview", argv, hint="the policies refuse this stack; the lines above name the rules")
    return next((line.strip() for line in reversed(said.splitlines()) if "to create" in line), "previewed")


def refused(stages: Stages, pack: Path) -> list[str]:
    """Given the policy pack, preview the violating stack and return the rules that refused it. Raise OperationError if
    it was not refused, or failed for another reason."""
    argv = ["pulumi", "--cwd", VIOLATING_PROJECT, "preview", "--stack", VIOLATING, "--policy-pack", str(pack), *PULUMI]
    code, said = stages.run("pulumi-violating", argv, good=())
    rules = sorted(set(re.findall(r"\[mandatory\]\s+([a-z0-9-]+)", said)))
    if code == 0 or not rules:
        raise OperationError(
            "the violating stack was not refused" if code == 0 else "the violating stack failed, but not by a policy",
            where=f"pulumi preview -s {VIOLATING}",
            hint="a gate that cannot close is no gate: see the log of pulumi-violating in .feedline/logs",
        )
    return rules


def up(stages: Stages, flags: tuple[str, ...] = ()) -> str:
    """Make the cluster and return the line that counts its resources."""
    argv = ["pulumi", "up", "--stack", STACK, *flags, "--yes", "--skip-preview", *PULUMI]
    _, said = stages.run(
        "pulumi-up", argv, hint="`./run sandbox status` and .feedline/sandbox/log tell the cloud's side"
    )
    return next((line.strip() for line in reversed(said.splitlines()) if "created" in line), "done")
