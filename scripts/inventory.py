"""The contract - from a Pulumi stack or a file - and the nodes a task is meant for."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from feedline.contract import Contract, Node
from feedline.discovery import nodes_of, with_nodes
from feedline.errors import OperationError
from scripts.arguments import Arguments
from scripts.places import CHECKOUT

PULUMI_PATIENCE_S = 120.0
HINTS = (
    ("no stack named", "`pulumi stack ls` lists the stacks there are"),
    ("does not have output property 'contract'", "run `pulumi up` on this stack first"),
    ("current stack does not have output", "run `pulumi up` on this stack first"),
    ("incorrect passphrase", "set PULUMI_CONFIG_PASSPHRASE; inside `./run shell` it is set"),
    ("passphrase must be set", "set PULUMI_CONFIG_PASSPHRASE; inside `./run shell` it is set"),
    ("PULUMI_ACCESS_TOKEN", "`pulumi login` to the backend that holds the stack; inside `./run shell` it is set"),
)


def load(arguments: Arguments, environ: Mapping[str, str] = os.environ) -> Contract:
    """Given the options, return the contract they name, with the nodes of its scale sets as ARM knows them now.

    Raise OperationError if there is none, it cannot be read, or ARM does not tell its nodes.
    """
    return discovered(read(arguments, environ), environ)


def discovered(contract: Contract, environ: Mapping[str, str] = os.environ) -> Contract:
    """Given a contract, return it with the instances of its scale sets as nodes. Raise OperationError."""
    if not contract.scale_sets:
        return contract
    from scripts.arm import Arm

    arm = Arm.of(contract, environ)
    found = {
        one.name: nodes_of(
            one,
            list(arm.list(f"{one.resource_id}/virtualMachines")),
            list(arm.list(f"{one.resource_id}/networkInterfaces")),
        )
        for one in contract.scale_sets
    }
    return with_nodes(contract, found)


def read(arguments: Arguments, environ: Mapping[str, str] = os.environ) -> Contract:
    """Given the options, return the contract as it was written. Raise OperationError."""
    if arguments.contract:
        if arguments.stack:
            raise OperationError("both --stack and --contract are given", hint="give one of them")
        return from_file(Path(arguments.contract))
    stack = stack_of(arguments, environ)
    return Contract.loads(_pulumi_output(stack), where=f"stack {stack}")


def stack_of(arguments: Arguments, environ: Mapping[str, str] = os.environ) -> str:
    """Given the options, return the stack they name. Raise OperationError when they name none."""
    stack = arguments.stack or environ.get("FEEDLINE_STACK", "")
    if not stack:
        raise OperationError("no cluster is named", hint="give --stack NAME (or FEEDLINE_STACK), or --contract FILE")
    return stack


def from_file(path: Path) -> Contract:
    """Given a file, return the contract in it. Raise OperationError if it cannot be read."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise OperationError(
            f"cannot be read: {reason}", where=str(path), hint="`pulumi stack output contract --json` writes a contract"
        ) from error
    return Contract.loads(text, where=str(path))


def _pulumi_output(stack: str) -> str:
    argv = ["pulumi", "stack", "output", "contract", "--json", "--stack", stack, "--non-interactive"]
    try:
        done = subprocess.run(
            argv,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PULUMI_PATIENCE_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise OperationError(
            "pulumi is not on PATH",
            where=f"stack {stack}",
            hint="work inside `./run shell`, install Pulumi, or give --contract FILE",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OperationError(
            f"pulumi did not answer within {PULUMI_PATIENCE_S:.0f} s",
            where=f"stack {stack}",
            hint="is the state backend reachable? --contract FILE needs no Pulumi",
        ) from error
    if done.returncode:
        said = "\n".join(line for line in (done.stderr + done.stdout).splitlines() if line.strip())
        hint = next((hint for sign, hint in HINTS if sign in said), "read Pulumi's own words above")
        raise OperationError(
            f"Pulumi has no contract for it:\n    {said.strip().removeprefix('error: ')}",
            where=f"stack {stack}",
            hint=hint,
        )
    # An output that was exported as a JSON string arrives quoted once more.
    try:
        value = json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.stdout
    return value if isinstance(value, str) else done.stdout


def select(contract: Contract, arguments: Arguments, roles: Sequence[str] = ()) -> tuple[Node, ...]:
    """Given a contract, the options and the roles a gate concerns (none = all), return the nodes to work on, in
    their order.

    Raise OperationError when a pattern or role matches nothing, or when nothing is left.
    """
    known = ", ".join(node.name for node in contract.nodes) or "none"
    chosen = [node for node in contract.nodes if not roles or node.role in roles]
    if arguments.role:
        if arguments.role not in {node.role for node in contract.nodes}:
            raise OperationError(
                f"no node has role {arguments.role!r}",
                hint=f"roles: {', '.join(sorted({n.role for n in contract.nodes}))}",
            )
        chosen = [node for node in chosen if node.role == arguments.role]
    if arguments.nodes:
        patterns = [pattern.strip() for pattern in arguments.nodes.split(",") if pattern.strip()]
        lost = [p for p in patterns if not any(fnmatch.fnmatchcase(node.name, p) for node in contract.nodes)]
        if lost or not patterns:
            raise OperationError(f"no node matches {', '.join(lost) or arguments.nodes!r}", hint=f"nodes: {known}")
        chosen = [node for node in chosen if any(fnmatch.fnmatchcase(node.name, p) for p in patterns)]
    if not chosen:
        wanted = f" of role {' or '.join(roles)}" if roles else ""
        raise OperationError(f"nothing to do: no node{wanted} is selected", hint=f"nodes: {known}")
    return tuple(chosen)
