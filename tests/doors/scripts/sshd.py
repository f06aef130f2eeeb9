"""A real SSH server on loopback, in this process: it runs what it is told, with the test's `sudo` on PATH."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import paramiko

SUDO_YES = '#!/bin/sh\nshift\nexec "$@"\n'  # drops -n
SUDO_NO = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"


class Server:
    """Accepts one public key for `azureuser`; `commands` collects what was executed."""

    def __init__(self, folder: Path, allowed: paramiko.PKey, sudo: str = SUDO_YES) -> None:
        self.key = paramiko.ECDSAKey.generate()
        self.allowed, self.commands = allowed, []
        self.path = folder / "bin"
        self.path.mkdir(exist_ok=True)
        self.sudo(sudo)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._transports: list[paramiko.Transport] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def sudo(self, text: str) -> None:
        (self.path / "sudo").write_text(text)
        (self.path / "sudo").chmod(0o755)

    def close(self) -> None:
        self._socket.close()
        for transport in self._transports:
            transport.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.key)
            transport.start_server(server=_Session(self), event=threading.Event())
            self._transports.append(transport)


class _Session(paramiko.ServerInterface):
    def __init__(self, server: Server) -> None:
        self._server = server

    def check_auth_publickey(self, username, key):
        good = username == "azureuser" and key == self._server.allowed
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username):
        return "publickey"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(self, chanid, origin, destination):
        return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel, command):
        self._server.commands.append(command.decode())
        threading.Thread(target=_run, args=(channel, command, self._server.path), daemon=True).start()
        return True


def _run(channel, command, path):
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
    )

    def feed():
        try:
            while data := channel.recv(65536):
                process.stdin.write(data)
                process.stdin.flush()
            process.stdin.close()
        except (BrokenPipeError, OSError):
            pass  # the program has ended

    def errors():
        try:
            for data in iter(lambda: process.stderr.read1(65536), b""):
                channel.sendall_stderr(data)
        except OSError:
            pass  # the client has left

    threads = [threading.Thread(target=t, daemon=True) for t in (feed, errors)]
    for thread in threads:
        thread.start()
    try:
        for data in iter(lambda: process.stdout.read1(65536), b""):
            channel.sendall(data)
        threads[1].join()
        channel.send_exit_status(process.wait())
    except OSError:
        process.kill()
    channel.close()
