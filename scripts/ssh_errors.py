"""What went wrong on the way to a node, as a message a person can act on."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import paramiko

from feedline.contract import Node, Ssh
from feedline.errors import OperationError


def unreachable(error: Exception, node: Node, ssh: Ssh, key: str, proxy_said: str) -> OperationError:
    """Given what paramiko raised, the node, the way in, the private key ("" = agent) and what the proxy command said,
    return the error to raise."""
    where = f"{node.name} ({ssh.user}@{node.address})"
    if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in str(error):
        return OperationError(
            "the node refused the SSH key" if key else "no SSH key was accepted, and the ssh agent has no other",
            where=where,
            hint="give the private key of the cluster: --identity FILE or FEEDLINE_SSH_KEY, or `ssh-add` it",
        )
    reason = proxy_said or _reason(error)
    ways = {
        "direct": "nodes are private: is the VPN up?",
        "jump": f"the way in is through {ssh.jump}: is that node running?",
        "command": "the way in is the contract's ssh.command: try it by hand (the sandbox is started by `./run shell`)",
    }
    return OperationError(f"cannot be reached: {reason}", where=where, hint=ways.get(ssh.via, ""))


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "its name does not resolve"
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return "it does not answer in time"
    if isinstance(error, FileNotFoundError):
        return f"the proxy command cannot be started: {error.strerror}: {error.filename}"
    return " ".join(str(error).split()) or type(error).__name__


def failed(node: Node, doing: str, code: int, errors: str, log: Path) -> OperationError:
    """Given a command on a node that ended without saying why in the protocol (its exit code, -1 = connection lost, its
    stderr, and the log that has all of it), return the error to raise."""
    where = node.name
    signs = ("a password is required", "not in the sudoers file", "may not run sudo", "not allowed to execute")
    if any(sign in errors for sign in signs):
        return OperationError(
            "no sudo: the admin user may not become root without a password",
            where=where,
            hint="cloud-init gives it `NOPASSWD:ALL`; see `cloud-init status --long` on the node",
        )
    if "sudo: command not found" in errors or "sudo: not found" in errors:
        return OperationError("no sudo: it is not installed", where=where, hint="add the package to the node's image")
    if "python3: command not found" in errors or "python3: not found" in errors:
        return OperationError("there is no /usr/bin/python3", where=where, hint="nodes need Python 3.11 or later")
    if code == -1:
        return OperationError(
            f"the connection was lost during `{doing}`",
            where=where,
            hint="what ran there may still run; run the task again, it goes on from what is there",
        )
    said = last_lines(errors.splitlines()) or "nothing on stderr"
    return OperationError(
        f"`{doing}` ended with exit code {code} and no answer:\n    {said}",
        where=where,
        hint=f"the whole output is in {log}",
    )


def last_lines(lines: Sequence[str], count: int = 3) -> str:
    """Given lines, return the last few that say something, indented for a message."""
    return "\n    ".join([line for line in lines if line.strip()][-count:])
