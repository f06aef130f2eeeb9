"""The door to ARM over real HTTP: a local server plays Azure, over TCP as for the cloud and over a socket as for the
sandbox."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from azure.core.pipeline.policies import HeadersPolicy

from feedline.errors import OperationError
from scripts.arm import Arm, Https

VM = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/gpu-0"
Scene = Callable[[str, str], tuple[int, dict[str, str], Any]]


class Server:
    """Answers as `scene(method, target)` says, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any, str]] = []
        self.scene: Scene = lambda method, target: (200, {}, {})

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Return the request handler class of this server."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                signed = self.headers.get("Authorization", "")
                server.asked.append((self.command, self.path, json.loads(body) if body else None, signed))
                status, headers, value = server.scene(self.command, self.path)
                data = (
                    value.encode() if isinstance(value, str) else b"" if value is None else json.dumps(value).encode()
                )
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_PATCH = do_POST = do_DELETE = answer

            def address_string(self) -> str:
                return "test"

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class OverSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture(params=["https", "socket"])
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Arm]]:
    """A server that plays ARM, and the door to it in each of its two ways."""
    server = Server()
    if request.param == "https":
        real: Any = ThreadingHTTPServer(("127.0.0.1", 0), server.handler())
        way = Https(f"http://127.0.0.1:{real.server_port}", HeadersPolicy({"Authorization": "Bearer t"}))
        door = Arm(way, sleep=lambda _: None)
    else:
        real = OverSocket(str(tmp_path / "arm.sock"), server.handler())
        door = Arm.sandbox({"FEEDLINE_ARM_SOCKET": str(tmp_path / "arm.sock")})
        door._sleep = lambda _: None
    threading.Thread(target=real.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server, door
    finally:
        real.shutdown()
        real.server_close()


def test_a_resource_is_read_and_changed_by_its_id(played: tuple[Server, Arm]) -> None:
    server, arm = played
    server.scene = lambda method, target: (200, {}, {"method": method})
    assert arm.get(VM) == {"method": "GET"} and arm.change("PUT", VM, {"tags": {}}) == {"method": "PUT"}
    assert [(m, t.split("?")[0], b) for m, t, b, _ in server.asked] == [("GET", VM, None), ("PUT", VM, {"tags": {}})]
    assert all("api-version=2024-11-01" in target for _, target, _, _ in server.asked)


def test_every_page_of_a_list_is_read(played: tuple[Server, Arm]) -> None:
    server, arm = played
    more = {"value": [1, 2], "nextLink": "https://management.azure.com/subscriptions/s/x?api-version=1&$skiptoken=a"}
    server.scene = lambda method, target: (200, {}, {"value": [3]} if "skiptoken" in target else more)
    assert list(arm.list("/subscriptions/s/providers/Microsoft.Storage/storageAccounts")) == [1, 2, 3]


@pytest.mark.parametrize("header", ["Azure-AsyncOperation", "Location"])
def test_both_ways_in_which_arm_tells_of_an_operation_are_waited_for(played: tuple[Server, Arm], header: str) -> None:
    server, arm = played
    states: Iterator[Any] = iter([(202, {}, {"status": "InProgress"}), (200, {}, {"status": "Succeeded"})])
    begun = (202, {header: "https://management.azure.com/subscriptions/s/operations/1?api-version=1"}, None)
    server.scene = lambda method, target: begun if method == "POST" else next(states)
    arm.change("POST", f"{VM}/redeploy")
    assert [target.split("?")[0] for _, target, _, _ in server.asked[1:]] == ["/subscriptions/s/operations/1"] * 2


def test_an_operation_that_can_no_longer_be_asked_about_is_an_error_and_no_endless_wait(
    played: tuple[Server, Arm],
) -> None:
    server, arm = played
    gone = {"error": {"code": "OperationNotFound", "message": "it is gone"}}
    begun = (202, {"Azure-AsyncOperation": "https://management.azure.com/op?api-version=1"}, None)
    server.scene = lambda method, target: begun if method == "POST" else (404, {}, gone)
    with pytest.raises(OperationError, match="OperationNotFound: it is gone"):
        arm.change("POST", f"{VM}/redeploy")


def test_what_arm_refuses_is_told_in_its_own_words(played: tuple[Server, Arm]) -> None:
    server, arm = played
    error = {"error": {"code": "ScopeLocked", "message": "The scope cannot perform delete operation."}}
    server.scene = lambda method, target: (409, {}, error)
    with pytest.raises(OperationError, match=r"ScopeLocked: The scope cannot perform delete") as refused:
        arm.change("DELETE", VM)
    assert refused.value.where == VM


def test_a_page_of_a_proxy_is_one_message_and_no_traceback(played: tuple[Server, Arm]) -> None:
    server, arm = played
    server.scene = lambda method, target: (407, {}, "<html>Proxy Authentication Required</html>")
    with pytest.raises(OperationError, match=r"HTTP 407 without JSON.*Proxy Authentication"):
        arm.get(VM)


def test_a_subscription_that_is_not_there_is_not_taken_for_a_free_name(played: tuple[Server, Arm]) -> None:
    server, arm = played
    missing = {"error": {"code": "SubscriptionNotFound", "message": "The subscription 's' could not be found."}}
    server.scene = lambda method, target: (404, {}, missing)
    with pytest.raises(OperationError, match="SubscriptionNotFound"):
        arm.get(VM)


def test_a_throttled_request_is_made_again_and_signed() -> None:
    server, answers = Server(), iter([(429, {"Retry-After": "0"}, {}), (200, {}, {"value": [1]})])
    server.scene = lambda method, target: next(answers)
    with ThreadingHTTPServer(("127.0.0.1", 0), server.handler()) as real:
        threading.Thread(target=real.serve_forever, args=(0.02,), daemon=True).start()
        base = f"http://127.0.0.1:{real.server_port}"
        arm = Arm(Https(base, HeadersPolicy({"Authorization": "Bearer t"})))
        assert list(arm.list("/subscriptions/s/providers/Microsoft.Compute/skus")) == [1]
        real.shutdown()
    assert [signed for _, _, _, signed in server.asked] == ["Bearer t"] * 2


def test_without_a_login_nothing_but_the_azure_cli_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The token comes first, and only from `az`: no metadata service, no other people's logins, nothing on the network.
    (tmp_path / "az").write_text(
        "#!/bin/sh\necho \"$@\" >> $(dirname $0)/asked\necho 'Please run az login' >&2; exit 1\n"
    )
    (tmp_path / "az").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(OperationError, match="az login"):
        Arm.azure().get(VM)
    assert "account get-access-token" in (tmp_path / "asked").read_text()
