"""A client on a node: azure-storage-blob with a managed identity, against the account's own name. Prints JSON."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from azure.core.exceptions import AzureError, HttpResponseError
from azure.identity import ManagedIdentityCredential
from azure.storage.blob import BlobServiceClient

HOST = "lake01.blob.core.windows.net"


def said(action: Callable[[], Any]) -> str:
    """Return 'ok', or the status and code of the refusal."""
    try:
        action()
    except HttpResponseError as error:
        return f"{error.status_code} {getattr(error.error_code, 'value', error.error_code)}"
    except AzureError as error:
        return type(error).__name__
    return "ok"


def fetched(url: str, host: str | None = None, **headers: str) -> str:
    """Return status and code of a plain GET; `host` = another address to connect to."""
    if host is not None:
        real = socket.getaddrinfo
        socket.getaddrinfo = lambda name, *rest, **kwargs: real(host, *rest, **kwargs)  # type: ignore[assignment]
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return str(response.status)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.headers.get('x-ms-error-code')}"
    except (urllib.error.URLError, ssl.SSLError, OSError) as error:
        return type(error).__name__
    finally:
        if host is not None:
            socket.getaddrinfo = real


def lookup(name: str) -> tuple[str, str]:
    """Return the address of a name and "", or "" and how the resolver failed (EAI_NONAME: it says that none exists)."""
    try:
        return socket.gethostbyname(name), ""
    except socket.gaierror as error:
        names = {getattr(socket, name): name for name in dir(socket) if name.startswith("EAI_")}
        return "", names.get(error.errno or 0, str(error.errno))


def reaches(address: str) -> str:
    """Return how a connection to an address outside ends."""
    try:
        socket.create_connection((address, 443), timeout=3).close()
    except OSError as error:
        return type(error).__name__ + f" {error.errno}"
    return "connected"


def main(identity: str) -> dict[str, Any]:
    """Try what the tests ask about; return what happened."""
    credential = ManagedIdentityCredential(client_id=identity)
    service = BlobServiceClient(f"https://{HOST}", credential=credential, retry_total=0)
    data, raw = service.get_container_client("training-data"), service.get_container_client("raw")
    url = f"https://{HOST}/training-data/a"
    return {
        "list": said(lambda: list(data.list_blob_names())),
        "exists": said(data.exists),
        "write": said(lambda: data.upload_blob("probe ä+%.bin", b"x" * 1000, overwrite=True)),
        "read": said(lambda: data.download_blob("probe ä+%.bin").readall()),
        "delete": said(lambda: data.delete_blob("probe ä+%.bin")),
        "raw": said(lambda: list(raw.list_blob_names())),
        "no such container": said(lambda: list(service.get_container_client("nobody").list_blob_names())),
        "no credential": fetched(url),
        "bad token": fetched(url, Authorization="Bearer a.b.c"),
        "sas": fetched(f"{url}?sv=2021-12-02&sig=abc"),
        "public address": fetched(url, host="203.0.113.10", Authorization="Bearer a.b.c"),
        "dfs": fetched(f"https://{HOST.replace('.blob.', '.dfs.')}/training-data"),
        "packages": fetched("http://packages.feedline.internal/Packages"),
        "address": lookup(HOST)[0],
        "unknown name": lookup("pypi.org"),
        "outside": reaches("1.1.1.1"),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
