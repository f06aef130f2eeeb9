"""ssh's ProxyCommand into a sandbox: `python3 -S -E ssh_proxy.py SOCKET HOST PORT` (standard library only, ~20 ms)."""

import os
import select
import socket
import sys


def main(argv: list[str]) -> int:
    """Given the sandbox's dial socket, a host and a port, join standard input and output with that port."""
    path, host, port = argv
    stream = socket.socket(socket.AF_UNIX)
    try:
        stream.connect(path)
    except OSError as failed:
        print(f"the sandbox is not running ({path}: {failed}): start it with ./run shell", file=sys.stderr)
        return 1
    stream.sendall(f"{host} {port}\n".encode())
    answer = b""
    while not answer.endswith(b"\n"):
        byte = stream.recv(1)
        if not byte:
            break
        answer += byte
    if answer != b"ok\n":
        print(
            f"{host}:{port} in the sandbox: {answer.decode(errors='replace').strip() or 'no answer'}", file=sys.stderr
        )
        return 1
    return relay(stream)


def relay(stream: socket.socket) -> int:
    """Copy both ways until the far side ends; our own end of input is passed on and does not end the answer."""
    sources = [stream.fileno(), 0]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if 0 in ready:
            data = os.read(0, 1 << 16)
            if data:
                stream.sendall(data)
            else:
                sources.remove(0)
                stream.shutdown(socket.SHUT_WR)
        if stream.fileno() in ready:
            data = stream.recv(1 << 16)
            if not data:
                return 0
            while data:
                data = data[os.write(1, data) :]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        sys.exit(1)
