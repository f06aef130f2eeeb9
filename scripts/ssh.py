"""SSH to one node, as the contract says: directly, through the jump node, or by a proxy command. One exec = one
round trip.

Fabric opens the connection; data goes through the connection's own channel, because Fabric's run(in_stream=…) takes
10 ms a byte.
"""

from __future__ import annotations

import logging
import re
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fabric
import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from feedline.contract import Contract, Node
from feedline.errors import OperationError
from scripts import hostkeys
from scripts.ssh_errors import unreachable

# It would print its own tracebacks on stderr; what goes wrong is said by ssh_errors.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

CONNECT_S = 15.0
SILENCE_S = 900.0
"""A node that says nothing for this long while a gate runs is given up."""
KEEPALIVE_S = 15
PORT = 22


def quote(argv: Sequence[str]) -> str:
    """Given an argv, return the one line that a POSIX shell splits into exactly it. The only quoting in the runbook."""
    return shlex.join(argv)


@dataclass(frozen=True)
class Way:
    """How to reach the nodes of one cluster: the contract's ssh block, the private key ("" = ssh agent), the known
    keys, and where the jump node is reached if not at its own address (the near end of a Bastion tunnel)."""

    contract: Contract
    key: str
    known_hosts: Path
    jump_at: tuple[str, int] | None = None

    def place(self, node: Node) -> tuple[str, int]:
        """Given a node, return host and port to connect to."""
        at_jump = self.contract.ssh.via == "jump" and node.name == self.contract.ssh.jump
        return self.jump_at if at_jump and self.jump_at else (node.address, PORT)


def jump_at(text: str) -> tuple[str, int] | None:
    """Given FEEDLINE_SSH_JUMP as HOST:PORT, return both; None for an empty text. Raise OperationError."""
    host, colon, port = text.rpartition(":")
    if not text:
        return None
    if not (colon and host and port.isdigit() and 0 < int(port) < 65536):
        raise OperationError(
            f"FEEDLINE_SSH_JUMP={text!r} is not HOST:PORT",
            where="ssh",
            hint="the near end of `az network bastion tunnel`, such as 127.0.0.1:2222",
        )
    return host, int(port)


@dataclass(frozen=True)
class Finished:
    """A remote command that ended: its exit code (-1 = the connection was lost) and what it said on stderr."""

    code: int
    errors: str


class _Connection(fabric.Connection):
    """Runs a proxy command on a socket pair. (paramiko's own ProxyCommand spins on a pipe whose program has ended.)"""

    proxy: subprocess.Popen[bytes] | None = None

    def open_gateway(self) -> Any:
        if not isinstance(self.gateway, str):
            return super().open_gateway()
        ours, its = socket.socketpair()
        places = {"%h": self.host, "%p": str(self.port), "%r": self.user, "%%": "%"}
        argv = [re.sub("%[hpr%]", lambda m: places[m[0]], word) for word in shlex.split(self.gateway)]
        with its:
            try:
                self.proxy = subprocess.Popen(
                    argv, stdin=its.fileno(), stdout=its.fileno(), stderr=subprocess.PIPE, start_new_session=True
                )
            except BaseException:
                ours.close()
                raise
        return ours

    def end_proxy(self, patience_s: float = 1.0) -> str:
        """End the proxy command and return what it said on stderr."""
        proxy, self.proxy = self.proxy, None
        if proxy is None:
            return ""
        try:
            # It ends by itself when its socket closes, or has ended already; only a stubborn one is killed.
            errors = proxy.communicate(timeout=patience_s)[1]
        except subprocess.TimeoutExpired:
            proxy.kill()
            errors = proxy.communicate()[1]
        return " ".join(errors.decode(errors="replace").split())


@dataclass
class Link:
    """One node's connection, opened at first use and kept. `said` collects what a person should know (first
    contact)."""

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
            for line in lines_of(channel):
                on_line(line)
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
            connection.end_proxy(0.1)
        if self._gateway is not None:
            self._gateway.close()

    def _connect(self) -> Any:
        ssh, name = self.way.contract.ssh, hostkeys.key_name(self.node.vm_id, self.node.name)
        keys: dict[str, Any] = {
            "look_for_keys": False,
            "allow_agent": not self.way.key,
            "banner_timeout": CONNECT_S,
            "auth_timeout": CONNECT_S,
        }
        if self.way.key:
            keys["pkey"] = _private_key(self.way.key)
        config = fabric.Config(overrides={"load_ssh_configs": False}, lazy=True)
        host, port = self.way.place(self.node)
        connection = _Connection(
            host,
            user=ssh.user,
            port=port,
            config=config,
            gateway=self._through(),
            connect_timeout=int(CONNECT_S),
            connect_kwargs=keys,
        )
        client = connection.client
        for key in hostkeys.known(self.way.known_hosts, name).values():
            # So that this type of key is asked for; what arrives is compared by the policy too.
            client.get_host_keys().add(_host_name(host, port), key.get_name(), key)
        client.set_missing_host_key_policy(hostkeys.FirstContact(self.way.known_hosts, name, self.said))
        try:
            connection.open()
        except paramiko.BadHostKeyException as error:
            raise hostkeys.changed(self.node.name, name, self.way.known_hosts, error.key) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            connection.close()
            raise unreachable(error, self.node, self.way.contract.ssh, self.way.key, connection.end_proxy()) from error
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


def _host_name(address: str, port: int) -> str:
    """Given an address and a port, return the name under which paramiko looks up the host key."""
    return address if port == 22 else f"[{address}]:{port}"


def _private_key(file: str) -> Any:
    """Given a private key file, return the key in it. Raise OperationError if it cannot be used."""
    try:
        return paramiko.PKey.from_path(file)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm, paramiko.SSHException) as error:
        raise OperationError(
            f"this private key cannot be used: {' '.join(str(error).split())}",
            where=file,
            hint="--identity names a private key without passphrase; keys with one go through the ssh agent",
        ) from error


def lines_of(channel: Any) -> Iterator[str]:
    """Given a channel, yield what comes on its stdout, line by line."""
    for line in channel.makefile("rb"):
        yield line.decode(errors="replace").rstrip("\n")


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
