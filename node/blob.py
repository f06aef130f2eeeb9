"""The data plane as this node's managed identity sees it: the only module on a node that imports the Azure SDK.

Retries are off: a gate wants the service's own answer, and a fresh connection each time, not a smoothed one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ServiceRequestError
from azure.identity import CredentialUnavailableError, ManagedIdentityCredential
from azure.storage.blob import ContainerClient, ContentSettings

from feedline.verdicts.access import Attempt

CONNECT_S, READ_S = 10, 60
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
"""What the node trusts, as AzCopy and BlobFuse2 do; the SDK would bring a list of its own (certifi)."""


@dataclass(frozen=True)
class Listed:
    """A blob as the service lists it. `md5` is the stored Content-MD5 as hex, or "" when the blob carries none."""

    name: str
    size: int
    md5: str


class Store:
    """One container, seen with one managed identity (its client id)."""

    def __init__(self, endpoint: str, container: str, client_id: str) -> None:
        self._endpoint, self._container = endpoint, container
        self._credential = ManagedIdentityCredential(client_id=client_id)

    def _client(self, *, retries: int = 0) -> ContainerClient:
        return ContainerClient(
            self._endpoint,
            self._container,
            credential=self._credential,
            retry_total=retries,
            connection_timeout=CONNECT_S,
            read_timeout=READ_S,
            connection_verify=TRUSTED,
        )

    def attempt(self, operation: str, blob: str) -> Attempt:
        """Given `list`, `write` or `delete` and a blob's name, ask once on a fresh connection; never raise for an
        answer."""
        actions: dict[str, Callable[[ContainerClient], Any]] = {
            "list": lambda client: next(iter(client.list_blobs(results_per_page=1).by_page()), None),
            "write": lambda client: client.upload_blob(blob, b"feedline probe\n", overwrite=True),
            "delete": lambda client: client.delete_blob(blob),
        }
        started = time.monotonic()
        try:
            with self._client() as client:
                page = actions[operation](client)
                if operation == "list" and page is not None:
                    next(iter(page), None)
            kind, status, code, detail = "ok", 200, "", ""
        except (CredentialUnavailableError, ClientAuthenticationError) as error:
            kind, status, code, detail = (
                _answer(error)
                if getattr(error, "error_code", None)
                else ("http", 0, "IdentityUnavailable", _one_line(error))
            )
        except HttpResponseError as error:
            kind, status, code, detail = _answer(error)
            if operation == "delete" and status == 404 and code == "BlobNotFound":
                kind, detail = "ok", "allowed; there was nothing to delete"
        except ServiceRequestError as error:
            kind, status, code, detail = "network", 0, _network_kind(error), _one_line(error)
        except AzureError as error:
            kind, status, code, detail = "network", 0, type(error).__name__, _one_line(error)
        return Attempt(kind, status, code, detail, round(time.monotonic() - started, 3))

    def list(self, prefix: str) -> Iterator[Listed]:
        """Given a prefix, yield every blob below it with its size and stored MD5."""
        with self._client(retries=3) as client:
            for item in client.list_blobs(name_starts_with=prefix):
                md5 = item.content_settings.content_md5
                yield Listed(item.name, item.size, bytes(md5).hex() if md5 else "")

    def read(self, blob: str) -> bytes | None:
        """Given a small blob's name, return its bytes, or None where there is no such blob."""
        try:
            with self._client(retries=3) as client:
                return client.download_blob(blob).readall()
        except HttpResponseError as error:
            if error.status_code == 404:
                return None
            raise

    def hash(self, blob: str, progress: Callable[[int], None]) -> str:
        """Given a blob's name, download it and return the SHA-256 of its bytes as hex; report bytes as they come."""
        digest = hashlib.sha256()
        with self._client(retries=3) as client:
            for chunk in client.download_blob(blob, max_concurrency=4).chunks():
                digest.update(chunk)
                progress(len(chunk))
        return digest.hexdigest()

    def write(self, blob: str, data: bytes) -> None:
        """Given a small blob's name and bytes, write it with its Content-MD5."""
        settings = ContentSettings(content_type="application/json", content_md5=bytearray(hashlib.md5(data).digest()))
        with self._client(retries=3) as client:
            client.upload_blob(blob, data, overwrite=True, content_settings=settings)


def _answer(error: HttpResponseError) -> tuple[str, int, str, str]:
    code = str(getattr(error, "error_code", "") or "")
    code = code.split(".")[-1] if "." in code else code
    return "http", int(error.status_code or 0), code or "NoErrorCode", _one_line(error)


def _network_kind(error: Exception) -> str:
    text = str(error)
    for sign, kind in (
        ("resolve", "NameNotResolved"),
        ("Name or service", "NameNotResolved"),
        ("certificate", "TlsNotTrusted"),
        ("refused", "ConnectionRefused"),
        ("timed out", "TimedOut"),
        ("unreachable", "Unreachable"),
    ):
        if sign in text:
            return kind
    return "NoConnection"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
