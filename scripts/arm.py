"""The runbook's one door to Azure Resource Manager: JSON over https as whoever is logged in with `az`, or over the
sandbox's socket.

Never DefaultAzureCredential: on an operator's machine it would try the metadata service, and other people's logins.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from feedline.contract import Contract
from feedline.errors import OperationError

ARM = "https://management.azure.com"
SOCKET = "FEEDLINE_ARM_SOCKET"
PATIENCE_S = 1800.0
POLL_S = 2.0
VERSIONS = {
    "microsoft.authorization": "2022-04-01",
    "microsoft.compute": "2024-11-01",
    "microsoft.network": "2024-05-01",
    "microsoft.resources": "2024-03-01",
    "microsoft.storage": "2024-01-01",
}
"""API version by resource provider: those that azure-native 3.29 uses."""

Answer = tuple[int, Mapping[str, str], Any]


class Sender(Protocol):
    """Sends one request and returns status, headers (lower case) and JSON."""

    def __call__(self, method: str, target: str, body: Any) -> Answer: ...


class Arm:
    """Requests to ARM. Paths are resource ids; the API version is added. What ARM refuses is an OperationError."""

    def __init__(self, send: Sender, sleep: Callable[[float], None] = time.sleep) -> None:
        self._send, self._sleep = send, sleep

    @classmethod
    def of(cls, contract: Contract, environ: Mapping[str, str] = os.environ) -> Arm:
        """Given the contract, return the way to its cloud."""
        return cls.sandbox(environ) if contract.is_sandbox else cls.azure()

    @classmethod
    def sandbox(cls, environ: Mapping[str, str] = os.environ) -> Arm:
        """The simulated Azure's control plane. Raise OperationError outside ./run shell."""
        path = environ.get(SOCKET)
        if not path:
            raise OperationError(f"{SOCKET} is not set", where="sandbox", hint="work inside ./run shell")
        return cls(_Socket(path))

    @classmethod
    def azure(cls) -> Arm:
        """Azure, as the login of the Azure CLI."""
        return cls(_Azure())

    def get(self, rid: str) -> Any:
        """Given a resource id, return the resource, or None where there is none."""
        status, _, answer = self._send("GET", versioned(rid), None)
        return None if status == 404 else self._checked(status, answer, rid)

    def list(self, collection: str, **query: str) -> Iterator[Any]:
        """Given a collection (`…/virtualMachines`), yield its items, page by page."""
        target: str | None = versioned(collection, **query)
        while target:
            status, _, answer = self._send("GET", target, None)
            page = self._checked(status, answer, collection)
            yield from page.get("value") or []
            target = _local(page.get("nextLink"))

    def change(self, method: str, rid: str, body: Any = None) -> Any:
        """Given PUT, PATCH, POST or DELETE, do it and wait until it is done. Return ARM's answer."""
        status, headers, answer = self._send(method, versioned(rid), body)
        self._checked(status, answer, rid)
        where, waited = _local(headers.get("azure-asyncoperation")), 0.0
        while where:
            _, _, operation = self._send("GET", where, None)
            state = str((operation or {}).get("status", "")).lower()
            if state == "succeeded":
                break
            if state in ("failed", "canceled"):
                raise _refused((operation or {}).get("error"), rid)
            if waited > PATIENCE_S:
                raise OperationError(
                    f"{method} did not end in {PATIENCE_S:.0f} s", where=rid, hint="look in the portal"
                )
            self._sleep(POLL_S)
            waited += POLL_S
        return answer

    def _checked(self, status: int, answer: Any, rid: str) -> Any:
        if status >= 400:
            raise _refused((answer or {}).get("error") if isinstance(answer, dict) else None, rid, status)
        return answer


def versioned(rid: str, **query: str) -> str:
    """Given a resource id or collection, return the request target with its provider's API version."""
    tail = rid.lower().rpartition("/providers/")[2]
    version = VERSIONS.get(tail.split("/")[0], VERSIONS["microsoft.resources"])
    text = urllib.parse.urlencode({"api-version": version, **query})
    return f"{urllib.parse.quote(rid, safe='/@$')}?{text}"


def _local(url: str | None) -> str | None:
    """Given a link of ARM's, return its path and query: it is followed on the same connection, nowhere else."""
    if not url:
        return None
    parts = urllib.parse.urlsplit(url)
    query = parts.query if "api-version=" in parts.query else f"api-version={VERSIONS['microsoft.resources']}"
    return f"{parts.path}?{query}"


def _refused(error: Any, rid: str, status: int = 0) -> OperationError:
    code = (error or {}).get("code", f"HTTP {status}")
    message = (error or {}).get("message", "no reason given")
    hint = (
        "az login, then az account set" if status in (401, 403) else "the code is ARM's own; nothing else was changed"
    )
    return OperationError(f"{code}: {message}", where=rid, hint=hint)


class _Socket:
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, method: str, target: str, body: Any) -> Answer:
        connection = http.client.HTTPConnection("arm", timeout=120)
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(120)
            connection.sock.connect(self._path)
            payload = None if body is None else json.dumps(body)
            connection.request(method, target, payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise OperationError(
                f"the sandbox does not answer: {error}", where=self._path, hint="start it with ./run sandbox up"
            ) from error
        finally:
            connection.close()
        headers = {key.lower(): value for key, value in response.getheaders()}
        return response.status, headers, json.loads(text) if text.strip() else None


class _Azure:
    """https with azure-core's retries, throttling waits and tokens."""

    def __init__(self) -> None:
        from azure.core import PipelineClient
        from azure.core.pipeline.policies import BearerTokenCredentialPolicy, RetryPolicy
        from azure.identity import AzureCliCredential

        token = BearerTokenCredentialPolicy(AzureCliCredential(), f"{ARM}/.default")
        self._client: Any = PipelineClient(ARM, policies=[RetryPolicy(), token])

    def __call__(self, method: str, target: str, body: Any) -> Answer:
        from azure.core.exceptions import AzureError
        from azure.core.rest import HttpRequest

        try:
            response = self._client.send_request(HttpRequest(method, target, json=body))
        except AzureError as error:
            raise OperationError(
                str(error).splitlines()[0], where=ARM, hint="az login, then az account set --subscription …"
            ) from error
        text = response.text()
        headers = {key.lower(): value for key, value in response.headers.items()}
        return response.status_code, headers, json.loads(text) if text.strip() else None
