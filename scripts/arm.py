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
from collections.abc import Callable, Iterable, Iterator, Mapping
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
OF_TYPE = {
    "microsoft.compute/skus": "2021-07-01",
    "microsoft.compute/virtualmachinescalesets/networkinterfaces": "2018-10-01",
}
"""Types that did not move on with their provider: the versions in which azure-rest-api-specs has them, and no newer."""

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
        return cls(Https())

    def get(self, rid: str) -> Any:
        """Given a resource id, return the resource, or None where there is none."""
        status, _, answer = self._send("GET", versioned(rid), None)
        if status == 404 and _error(answer).get("code") != "SubscriptionNotFound":
            return None
        return self._checked(status, answer, rid)

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
        if where := _local(headers.get("azure-asyncoperation")):
            self._wait(rid, where, headers, _by_status)
        elif status == 202 and (where := _local(headers.get("location"))):
            return self._wait(rid, where, headers, _by_code)
        return answer

    def _wait(self, rid: str, where: str, headers: Mapping[str, str], ended: Callable[[int, Any], bool]) -> Any:
        """Ask for an operation's state until it has ended; return the last answer. ARM has two ways to tell it."""
        waited = 0.0
        while True:
            status, told, answer = self._send("GET", where, None)
            self._checked(status, answer, rid)
            if ended(status, answer):
                break
            if waited > PATIENCE_S:
                raise OperationError(f"did not end in {PATIENCE_S:.0f} s", where=rid, hint="look in the portal")
            pause = _seconds(told.get("retry-after") or headers.get("retry-after"))
            self._sleep(pause)
            waited += pause
        if isinstance(answer, dict) and str(answer.get("status", "")).lower() in ("failed", "canceled"):
            raise _refused(answer, rid)
        return answer

    def _checked(self, status: int, answer: Any, rid: str) -> Any:
        if status >= 400:
            raise _refused(answer, rid, status)
        return answer


def _by_status(_: int, operation: Any) -> bool:
    return str((operation or {}).get("status", "")).lower() in ("succeeded", "failed", "canceled")


def _by_code(status: int, _: Any) -> bool:
    return status != 202


def _seconds(told: str | None) -> float:
    return min(max(float(told), 0.0), 60.0) if told and told.isdigit() else POLL_S


def versioned(rid: str, **query: str) -> str:
    """Given a resource id or collection, return the request target with the API version of its type."""
    words = rid.lower().rpartition("/providers/")[2].split("/")
    kind = "/".join([words[0], *words[1::2]])
    # A provider without a type is the provider's own registration.
    default = VERSIONS["microsoft.resources"]
    version = OF_TYPE.get(kind) or (VERSIONS.get(words[0], default) if len(words) > 1 else default)
    text = urllib.parse.urlencode({"api-version": version, **query})
    return f"{urllib.parse.quote(rid, safe='/@$')}?{text}"


def _local(url: str | None) -> str | None:
    """Given a link of ARM's, return its path and query: it is followed on the same connection, nowhere else."""
    if not url:
        return None
    parts = urllib.parse.urlsplit(url)
    query = parts.query if "api-version=" in parts.query else f"api-version={VERSIONS['microsoft.resources']}"
    return f"{parts.path}?{query}"


def _error(answer: Any) -> Mapping[str, Any]:
    found = answer.get("error") if isinstance(answer, dict) else None
    return found if isinstance(found, dict) else {}


def _refused(answer: Any, rid: str, status: int = 0) -> OperationError:
    error = _error(answer)
    code, message = error.get("code", f"HTTP {status}"), error.get("message", "no reason given")
    hint = (
        "az login, then az account set" if status in (401, 403) else "the code is ARM's own; nothing else was changed"
    )
    return OperationError(f"{code}: {message}", where=rid, hint=hint)


def _read(status: int, headers: Iterable[tuple[str, str]], text: str, where: str) -> Answer:
    """Given a response, return it as an answer. A proxy between us and ARM answers pages, not JSON."""
    try:
        body = json.loads(text) if text.strip() else None
    except ValueError as error:
        raise OperationError(
            f"HTTP {status} without JSON: {text.strip()[:80]!r}", where=where, hint="is there a proxy in between?"
        ) from error
    return status, {key.lower(): value for key, value in headers}, body


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
            text = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise OperationError(
                f"the sandbox does not answer: {error}", where=self._path, hint="start it with ./run sandbox up"
            ) from error
        finally:
            connection.close()
        return _read(response.status, response.getheaders(), text, self._path)


class Https:
    """https with azure-core's retries and throttling waits. `token` is the policy that signs requests: whoever is
    logged in with `az`, if none is given."""

    def __init__(self, base: str = ARM, token: Any = None) -> None:
        from azure.core import PipelineClient
        from azure.core.pipeline.policies import BearerTokenCredentialPolicy, RetryPolicy
        from azure.identity import AzureCliCredential

        self._base = base
        token = token or BearerTokenCredentialPolicy(AzureCliCredential(), f"{ARM}/.default")
        self._client: Any = PipelineClient(base, policies=[RetryPolicy(), token])

    def __call__(self, method: str, target: str, body: Any) -> Answer:
        from azure.core.exceptions import AzureError
        from azure.core.rest import HttpRequest

        try:
            response = self._client.send_request(HttpRequest(method, self._base + target, json=body))
        except AzureError as error:
            raise OperationError(
                str(error).splitlines()[0], where=self._base, hint="az login, then az account set --subscription …"
            ) from error
        return _read(response.status_code, response.headers.items(), response.text(), self._base)
