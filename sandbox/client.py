"""Ask the running controller: HTTP over its unix socket, with the standard library alone (the CLI must start fast)."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class Unreachable(RuntimeError):
    """Nobody answers on the controller's socket."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("sandbox", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def call(path: Path, method: str, target: str, body: Any = None, timeout: float = 10) -> tuple[int, Any]:
    """Given the socket and a request, return (HTTP status, JSON or None). Raise Unreachable if nobody answers."""
    connection = _UnixConnection(path, timeout)
    try:
        payload = None if body is None else json.dumps(body)
        connection.request(method, target, payload, {"Content-Type": "application/json"} if payload else {})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as failed:
        raise Unreachable(
            f"the sandbox does not answer ({path}: {failed}): start it with `./run sandbox up`"
        ) from failed
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text) if text else None
    except ValueError:
        return answer.status, {"error": {"code": "NotJson", "message": text.decode(errors="replace")[:500]}}
