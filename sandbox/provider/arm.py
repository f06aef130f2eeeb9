"""The plugin's way to the ARM face: HTTP over a unix socket, waiting for asynchronous operations."""

from __future__ import annotations

import time
from typing import Any

import httpx

API_VERSION = "2024-11-01"
OPERATION_S = 900.0
POLL_S = 0.25
BUSY = ("Creating", "Updating", "Accepted", "Deleting")


class ArmError(Exception):
    """ARM refused or could not be reached: its code (`NoController` when nobody answers) and message. `begun` = the
    resource exists all the same: what failed is the operation that should have finished it."""

    def __init__(self, code: str, message: str, *, begun: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.begun = code, message, begun


class ArmClient:
    """Requests on resource ids. Safe to use from the plugin's threads."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        transport = httpx.HTTPTransport(uds=socket, limits=httpx.Limits(max_connections=64))
        self._http = httpx.Client(transport=transport, base_url="http://management.azure.com", timeout=120.0)

    def get(self, rid: str) -> dict[str, Any] | None:
        """Given an id, return the resource, or None when there is none. Raise ArmError."""
        answer = self._send("GET", rid)
        if answer.status_code == 404:
            return None
        return self._checked(answer)

    def put(self, rid: str, body: dict[str, Any]) -> dict[str, Any]:
        """Given an id and a body, put it, wait until it is done and return the resource. Raise ArmError."""
        deadline = time.monotonic() + OPERATION_S
        while (answer := self._send("PUT", rid, body)).status_code == 429 and time.monotonic() < deadline:
            time.sleep(POLL_S)  # as azure-native does with AnotherOperationInProgress
        result = self._checked(answer)
        if where := answer.headers.get("Azure-AsyncOperation"):
            self._wait(where)
        return self.get(rid) or result

    def delete(self, rid: str) -> None:
        """Given an id, delete it; one that is gone is fine. Raise ArmError."""
        answer = self._send("DELETE", rid)
        if answer.status_code != 404:
            self._checked(answer)

    def _wait(self, where: str) -> None:
        deadline = time.monotonic() + OPERATION_S
        while time.monotonic() < deadline:
            state = self._checked(self._send("GET", where))
            if state["status"] != "InProgress":
                break
            time.sleep(POLL_S)
        else:
            raise ArmError("OperationTimedOut", f"not done after {OPERATION_S:.0f} s: {where}")
        if state["status"] != "Succeeded":
            error = state.get("error") or {}
            told = error.get("message", "the operation failed without a message")
            raise ArmError(error.get("code", state["status"]), told, begun=True)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        if not self._socket:
            raise ArmError("NoController", "the sandbox is not running: start it with ./run shell")
        try:
            return self._http.request(method, path, params={"api-version": API_VERSION}, json=body)
        except httpx.TransportError as error:
            raise ArmError(
                "NoController", f"the sandbox is not running: start it with ./run shell ({error})"
            ) from error

    @staticmethod
    def _checked(answer: httpx.Response) -> dict[str, Any]:
        if answer.status_code >= 400:
            try:
                error = answer.json()["error"]
            except (ValueError, KeyError):
                raise ArmError(f"Http{answer.status_code}", answer.text[:500]) from None
            raise ArmError(error["code"], error["message"])
        return answer.json() if answer.content else {}
