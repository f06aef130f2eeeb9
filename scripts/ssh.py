"""SSH to one node, as the contract says: directly, through the jump node, or by a proxy command. One exec = one round trip.

Fabric opens the connection; data goes through the connection's own channel, because Fabric's run(in_stream=…) takes 10 ms a byte.
"""

from __future__ import annotations

import shlex
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fabric
import paramiko

from feedline.contract import Contract, Node
from feedline.errors import OperationError
from scripts import hostkeys

CONNECT_S = 15.0
SILENCE_S = 900.0
"""A node that says nothing for this long while a gate runs is given up."""
KEEPALIVE_S = 15


def quote(argv: Sequence[str]) -> str:
    """Given an argv, return the one line that a POSIX shell splits into exactly it. The only quoting in the runbook."""
    return shlex.join(argv)


@dataclass(frozen=True)
class Way:
    """How to reach the nodes of one cluster: the contract's ssh block, the private key ("" = ssh agent), the known keys."""

    contract: Contract
    key: str
    known_hosts: Path


@dataclass(frozen=True)
class Finished:
    """A remote command that ended: its exit code (-1 = the connection was lost) and what it said on stderr."""

    code: int
    errors: str


class _Connection(fabric.Connection):
    """Remembers the proxy command, whose stderr tells why a gateway refused."""

    proxy: Any = None

    def open_gateway(self) -> Any:
        self.proxy = super().open_gateway()
        return self.proxy


@dataclass
class Link:
    """One node's connection, opened at first use and kept. `said` collects what a person should know (first contact)."""

    way: Way
    node: Node
    said: list[str] = field(default_factory=list)
    _connection: Any = None
    _gateway: Link | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def execute(
        self, argv: Sequence[str], stdin: bytes, on_line: Callable[[str], None], *, silence_s: float = SILENCE_S
    ) -> Finished:
        """Given an argv and its input, run it and pass each line of its output on as it comes; return how it ended.

        Raise OperationError when the node cannot be reached or falls silent.
        """
        channel = self.channel(argv, silence_s)
        try:
            errors, reader = _drain(channel)
            try:
                channel.sendall(stdin)
                channel.shutdown_write()
            except OSError:
                pass  # it ended before it read everything: its exit code tells why
            for line in channel.makefile("r", encoding="utf-8", errors="replace"):
                on_line(line.rstrip("\n"))
            code = channel.recv_exit_status()
            reader.join(5)
        except TimeoutError as error:
            raise OperationError(
                f"said nothing for {silence_s:.0f} s",
                where=self.node.name,
                hint="the work there may still run; look at the node, then run the task again",
            ) from error
        finally:
            channel.close()
        return Finished(code, b"".join(errors).decode(errors="replace"))

    def channel(self, argv: Sequence[str], silence_s: float = SILENCE_S) -> Any:
        """Given an argv, start it and return the raw channel. Raise OperationError when the node cannot be reached."""
        try:
            channel = self.transport().open_session(timeout=CONNECT_S)
            channel.settimeout(silence_s)
            channel.exec_command(quote(argv))
        except (paramiko.SSHException, OSError) as error:
            self.close()
            raise OperationError(
                f"the connection was lost: {error or type(error).__name__}",
                where=self.node.name,
                hint="run the task again; `fab doctor` says whether the node answers",
            ) from error
        return channel

    def transport(self) -> Any:
        """Return the open transport, connecting if need be. Raise OperationError saying what failed and what to do."""
        with self._lock:
            if self._connection is None or not self._connection.is_connected:
                self._connection = self._connect()
            return self._connection.transport

    def close(self) -> None:
        """Close the connection and whatever it went through."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            proxy = connection.proxy
            if proxy is not None and hasattr(proxy, "process"):
                for pipe in (proxy.process.stdin, proxy.process.stdout, proxy.process.stderr):
                    pipe.close()
                proxy.process.wait(5)
        if self._gateway is not None:
            self._gateway.close()

    def _connect(self) -> Any:
        ssh, name = self.way.contract.ssh, hostkeys.key_name(self.node.vm_id, self.node.name)
        keys = {
            "look_for_keys": False,
            "allow_agent": not self.way.key,
            "banner_timeout": CONNECT_S,
            "auth_timeout": CONNECT_S,
        }
        if self.way.key:
            keys["key_filename"] = self.way.key
        config = fabric.Config(overrides={"load_ssh_configs": False}, lazy=True)
        connection = _Connection(
            self.node.address,
            user=ssh.user,
            port=22,
            config=config,
            gateway=self._through(),
            connect_timeout=int(CONNECT_S),
            connect_kwargs=keys,
        )
        client = connection.client
        for key in hostkeys.known(self.way.known_hosts, name).values():
            client.get_host_keys().add(self.node.address, key.get_name(), key)
        client.set_missing_host_key_policy(hostkeys.FirstContact(self.way.known_hosts, name, self.said))
        try:
            connection.open()
        except paramiko.BadHostKeyException as error:
            raise hostkeys.changed(self.node.name, name, self.way.known_hosts, error.key) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise _explained(error, self.node, self.way, connection) from error
        connection.transport.set_keepalive(KEEPALIVE_S)
        return connection

    def _through(self) -> Any:
        """Return what Fabric calls the gateway: None, a proxy command, or the connection to the jump node."""
        ssh, contract = self.way.contract.ssh, self.way.contract
        if ssh.via == "direct":
            return None
        if ssh.via == "command":
            if not ssh.command:
                raise OperationError(
                    "ssh.via is `command`, and ssh.command is empty",
                    where="contract",
                    hint="set it in the stack's settings, then `pulumi up`",
                )
            return ssh.command
        if ssh.via != "jump" or not ssh.jump:
            raise OperationError(
                f"ssh.via is {ssh.via!r} with jump {ssh.jump!r}",
                where="contract",
                hint="this release knows direct, jump (through a node) and command",
            )
        if ssh.jump == self.node.name:
            return None
        self._gateway = Link(self.way, contract.node(ssh.jump), self.said)
        self._gateway.transport()
        return self._gateway._connection


def _drain(channel: Any) -> tuple[list[bytes], threading.Thread]:
    """Read stderr beside stdout: a full window of the one would stop the other."""
    errors: list[bytes] = []

    def read() -> None:
        try:
            while chunk := channel.recv_stderr(65536):
                errors.append(chunk)
                del errors[:-64]
        except (OSError, TimeoutError):
            pass  # the channel was closed: what was said so far is kept

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return errors, thread


def _explained(error: Exception, node: Node, way: Way, connection: Any) -> OperationError:
    """Given what paramiko raised, return the message a person can act on."""
    where = f"{node.name} ({way.contract.ssh.user}@{node.address})"
    if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in str(error):
        return OperationError(
            "the node refused the SSH key" if way.key else "no SSH key was accepted, and the ssh agent has no other",
            where=where,
            hint="give the private key of the cluster: --identity FILE or FEEDLINE_SSH_KEY, or `ssh-add` it",
        )
    if isinstance(
        error, (paramiko.PasswordRequiredException, FileNotFoundError, PermissionError)
    ) or "not a valid" in str(error):
        return OperationError(
            f"the private key {way.key} cannot be used: {error}",
            where=where,
            hint="--identity names a private key file; keys with a passphrase go through the ssh agent",
        )
    said = _proxy_said(connection)
    if said:
        return OperationError(
            f"cannot be reached: {said}",
            where=where,
            hint="the way in is the contract's ssh.command; the sandbox is started by ./run shell",
        )
    if isinstance(error, socket.gaierror):
        reason = "its name does not resolve"
    elif isinstance(error, TimeoutError) or "timed out" in str(error):
        reason = f"no answer within {CONNECT_S:.0f} s"
    else:
        reason = " ".join(str(error).split()) or type(error).__name__
    ways = {
        "direct": "nodes are private: is the VPN up?",
        "jump": f"the way in is through {way.contract.ssh.jump}: is that node running?",
        "command": "the way in is the contract's ssh.command: try it by hand",
    }
    return OperationError(
        f"cannot be reached: {reason}",
        where=where,
        hint=f"{ways.get(way.contract.ssh.via, '')} `pulumi up` tells whether the VM exists",
    )


def _proxy_said(connection: Any) -> str:
    proxy = connection.proxy
    if proxy is None or not hasattr(proxy, "process"):
        return ""
    proxy.process.kill()
    _, errors = proxy.process.communicate(timeout=5)
    return " ".join(errors.decode(errors="replace").split())


def hint_lines(lines: Iterable[str], count: int = 3) -> str:
    """Given lines, return the last few that say something, for a message."""
    return "\n    ".join([line for line in lines if line.strip()][-count:])
