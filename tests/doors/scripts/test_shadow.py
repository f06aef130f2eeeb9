"""What can be seen of an account outside: its containers by ARM, our seal by its own data plane, where that is open."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential

from feedline.contract import Contract
from scripts.arm import Arm
from scripts.shadow import blob_there, seen
from tests.doors.scripts.conftest import ControlPlane
from tests.shared.small_cluster import CONTRACT

CLUSTER = Contract.parse(CONTRACT)
KEY = AzureNamedKeyCredential("account", "a2V5")
"""The SDK sends no token over http; a key serves the same purpose against a local server."""


@pytest.fixture
def storage() -> Any:
    """A blob service: `open` holds our seal, `empty` does not, `closed` lets nobody in."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            status = 403 if "/closed/" in self.path else 200 if self.path == "/open/_feedline/seal.json" else 404
            self.send_response(status)
            for name, value in {"Content-Length": "0", "ETag": "x", "x-ms-blob-type": "BlockBlob"}.items():
                self.send_header(name, value)
            self.send_header("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as real:
        threading.Thread(target=real.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{real.server_port}", asked
        real.shutdown()


def test_a_seal_is_found_by_one_head_request_and_a_closed_door_is_not_an_answer(storage: Any) -> None:
    endpoint, asked = storage
    there = blob_there(KEY)
    assert there(endpoint, "open", "_feedline/seal.json") is True
    assert there(endpoint, "empty", "_feedline/seal.json") is False
    assert there(endpoint, "closed", "_feedline/seal.json") is None
    assert len(asked) == 3


def test_an_account_that_nobody_reaches_is_not_known() -> None:
    assert blob_there(KEY)("http://127.0.0.1:9", "x", "y") is None


def test_a_token_never_goes_over_an_open_line(storage: Any) -> None:
    class Login:
        def get_token(self, *_: Any, **__: Any) -> AccessToken:
            return AccessToken("secret", int(time.time()) + 3600)

    endpoint, asked = storage
    with pytest.raises(ValueError, match="only supported with HTTPS"):
        blob_there(Login())(endpoint, "open", "_feedline/seal.json")
    assert asked == []


def test_containers_are_told_by_arm_and_a_refusal_of_one_account_hides_no_other(plane: ControlPlane) -> None:
    plane.facts()
    base = "/subscriptions/s/resourceGroups/rg-web"
    plane.arm.change("PUT", base, {"location": "eastus"})
    ids = {name: f"{base}/providers/Microsoft.Storage/storageAccounts/{name}" for name in ("first", "second")}
    for rid in ids.values():
        body = {"location": "eastus", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": {}}
        plane.arm.change("PUT", rid, body)
        plane.arm.change("PUT", f"{rid}/blobServices/default/containers/training-data", {"properties": {}})
    accounts = list(plane.arm.list("/subscriptions/s/providers/Microsoft.Storage/storageAccounts"))
    send = plane.arm._send

    def closed(method: str, target: str, body: object) -> Any:
        if "/first/" in target:
            return 403, {}, {"error": {"code": "AuthorizationFailed", "message": "no"}}
        return send(method, target, body)

    found = seen(CLUSTER, Arm(closed), accounts, lambda endpoint, container, blob: blob.startswith("shards-v1"))
    assert found["first"].containers is None and "AuthorizationFailed" in found["first"].why_not
    assert found["second"].containers == ("training-data",) and found["second"].looked
    assert found["second"].seals == ("training-data/shards-v1/_feedline/seal.json",)
    assert not seen(CLUSTER, plane.arm, accounts, None)["second"].looked
