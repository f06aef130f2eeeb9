"""The blob REST API as far as a mount needs it, with a managed identity's token."""

from __future__ import annotations

import base64
import datetime
import http.client
import json
import os
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime

VERSION = "2021-12-02"
IMDS = "http://169.254.169.254/metadata/identity/oauth2/token"
RESOURCE = "https://storage.azure.com"
REFRESH_S = 300.0
TRIES, PAUSE_S, LONGEST_PAUSE_S = 6, 4.0, 60.0
"""max-retries 5, retry-backoff-sec 4 and max-retry-delay-sec 60, the real defaults: a mount tries for minutes."""
TIMEOUT_S = 60.0
AGAIN = (429, 500, 502, 503, 504)


class StorageError(Exception):
    """The service refused (status and code) or could not be reached (status 0, code = what failed)."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}" if status else code)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Blob:
    """A blob or a folder (`size` -1) by its name in the container; `mtime` in seconds since 1970."""

    name: str
    size: int
    mtime: float

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder: a common prefix, or an empty blob marked as one."""
        return self.size < 0


Strings = list[str]  # a class below has a method named `list`
Page = tuple[list[Blob], str | None]


class Token:
    """A managed identity's token, refreshed five minutes before it ends."""

    def __init__(self, client_id: str) -> None:
        self._client_id, self._lock = client_id, threading.Lock()
        self._value, self._until = "", 0.0

    def get(self) -> str:
        """Return a valid token. Raise StorageError when the identity endpoint gives none."""
        with self._lock:
            if time.time() > self._until - REFRESH_S:
                self._ask()
            return self._value

    def _ask(self) -> None:
        query = {"resource": RESOURCE, **({"client_id": self._client_id} if self._client_id else {})}
        endpoint, header = os.environ.get("IDENTITY_ENDPOINT"), os.environ.get("IDENTITY_HEADER")
        if endpoint and header:
            url, headers = endpoint, {"X-IDENTITY-HEADER": header}
            query["api-version"] = "2019-08-01"
        else:
            url, headers = IMDS, {"Metadata": "true"}
            query["api-version"] = "2018-02-01"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(f"{url}?{urllib.parse.urlencode(query)}", headers=headers)
        try:
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise StorageError(0, "the requested identity isn't assigned to this resource") from error
        except (OSError, ValueError) as error:
            raise StorageError(0, f"ManagedIdentityCredential: {error}") from error
        self._value, self._until = body["access_token"], float(body["expires_on"])


class Container:
    """One container. Connections are kept per thread."""

    def __init__(self, endpoint: str, container: str, client_id: str) -> None:
        parts = urllib.parse.urlsplit(endpoint)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._base = f"{parts.path.rstrip('/')}/{container}"
        self._token, self._local = Token(client_id), threading.local()
        self._tls = ssl.create_default_context()

    def probe(self) -> None:
        """List two blobs, as the real program does at mount time. Raise StorageError."""
        self._page("", "", 2, None)

    def list(self, prefix: str, *, flat: bool) -> Iterator[Blob]:
        """Given a prefix, yield what is below it: one level, or everything when `flat`."""
        marker: str | None = None
        while True:
            found, marker = self._page(prefix, "" if flat else "/", 5000, marker)
            yield from found
            if not marker:
                return

    def stat(self, name: str) -> Blob | None:
        """Given a name, return the blob, the folder, or None."""
        try:
            _, headers, _ = self._send("HEAD", f"/{urllib.parse.quote(name)}")
        except StorageError as error:
            if error.status != 404:
                raise
            below = next(iter(self.list(f"{name}/", flat=True)), None)
            return Blob(name, -1, below.mtime) if below else None
        size = -1 if headers.get("x-ms-meta-hdi_isfolder") == "true" else int(headers["Content-Length"])
        return Blob(name, size, _seconds(headers.get("Last-Modified")))

    def read(self, name: str, offset: int, count: int) -> bytes:
        """Given a blob and a range, return its bytes."""
        headers = {"x-ms-range": f"bytes={offset}-{offset + count - 1}"}
        return self._send("GET", f"/{urllib.parse.quote(name)}", headers=headers)[2]

    def write(self, name: str, path: str, block_bytes: int) -> None:
        """Given a blob's name and a local file, upload the file: at once when small, in blocks when large."""
        size = os.path.getsize(path)
        url = f"/{urllib.parse.quote(name)}"
        with open(path, "rb") as file:
            if size <= block_bytes:
                self._send("PUT", url, body=file.read(), headers={"x-ms-blob-type": "BlockBlob"})
                return
            ids: Strings = []
            while block := file.read(block_bytes):
                ids.append(base64.b64encode(f"{len(ids):08d}".encode()).decode())
                self._send("PUT", f"{url}?comp=block&blockid={urllib.parse.quote(ids[-1])}", body=block)
        items = "".join(f"<Latest>{i}</Latest>" for i in ids)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{items}</BlockList>'.encode()
        self._send("PUT", f"{url}?comp=blocklist", body=body)

    def make_folder(self, name: str) -> None:
        """Given a name, write the empty blob that marks a folder."""
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-meta-hdi_isfolder": "true"}
        self._send("PUT", f"/{urllib.parse.quote(name)}", body=b"", headers=headers)

    def delete(self, name: str) -> None:
        """Given a blob's name, delete it."""
        self._send("DELETE", f"/{urllib.parse.quote(name)}")

    def _page(self, prefix: str, delimiter: str, count: int, marker: str | None) -> Page:
        query = {"restype": "container", "comp": "list", "maxresults": str(count), "include": "metadata"}
        query |= {k: v for k, v in (("prefix", prefix), ("delimiter", delimiter), ("marker", marker)) if v}
        body = self._send("GET", f"?{urllib.parse.urlencode(query)}")[2]
        root = ElementTree.fromstring(body)
        found = [_blob(item) for item in root.iter("Blob")]
        found += [Blob(str(item.findtext("Name")).rstrip("/"), -1, time.time()) for item in root.iter("BlobPrefix")]
        return found, root.findtext("NextMarker") or None

    def _send(
        self, method: str, path: str, *, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        last = StorageError(0, "not tried")
        for attempt in range(TRIES):
            if attempt:
                time.sleep(min(PAUSE_S * 2 ** (attempt - 1), LONGEST_PAUSE_S))
            try:
                status, answer, data = self._once(method, path, body, headers or {})
            except (OSError, http.client.HTTPException) as error:
                self._local.connection = None
                last = StorageError(0, str(error))
                continue
            if status < 400:
                return status, answer, data
            last = StorageError(status, answer.get("x-ms-error-code") or _code(data))
            if status not in AGAIN:
                break
        raise last

    def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_S, context=self._tls)
            self._local.connection = connection
        common = {
            "Authorization": f"Bearer {self._token.get()}",
            "x-ms-version": VERSION,
            "x-ms-date": formatdate(usegmt=True),
        }
        connection.request(method, self._base + path, body=body, headers={**common, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def _blob(item: ElementTree.Element) -> Blob:
    folder = item.findtext("Metadata/hdi_isfolder") == "true"
    size = -1 if folder else int(item.findtext("Properties/Content-Length") or 0)
    return Blob(str(item.findtext("Name")), size, _seconds(item.findtext("Properties/Last-Modified")))


def _seconds(text: str | None) -> float:
    return parsedate_to_datetime(text).timestamp() if text else datetime.datetime.now(tz=datetime.UTC).timestamp()


def _code(data: bytes) -> str:
    try:
        return ElementTree.fromstring(data).findtext("Code") or "NoErrorCode"
    except ElementTree.ParseError:
        return "NoErrorCode"
