"""What doctor is told: what is not known has a reason, and a token is never shown."""

import io
import json
import urllib.error
from email.message import Message

import pytest

from node import facts


class Answer(io.BytesIO):
    def __init__(self, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        super().__init__(body)
        self.headers = headers or {}


def refused(code: int, headers: dict[str, str] | None = None) -> urllib.error.HTTPError:
    message = Message()
    for key, value in (headers or {}).items():
        message[key] = value
    return urllib.error.HTTPError("https://x", code, "no", message, io.BytesIO(b'{"error": "no identity"}'))


class Opener:
    """Stands where the network would be."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def open(self, request: object, timeout: float) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    where = [(2, 1, 6, "", ("10.0.2.4", 443))]
    monkeypatch.setattr(facts.socket, "getaddrinfo", lambda *_: where)


def reach(monkeypatch: pytest.MonkeyPatch, answer: object) -> facts.Endpoint:
    monkeypatch.setattr(facts, "DIRECT", Opener(answer))
    return facts.endpoint("https://acct.blob.core.windows.net")


def test_a_refusal_is_an_answer_and_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.time, "time", lambda: 1_000_000_030.0)
    found = reach(monkeypatch, refused(400, {"Date": "Sun, 09 Sep 2001 01:46:40 GMT"}))
    assert (found.tls, found.clock_offset_s, found.addresses) == (True, 30.0, ("10.0.2.4",))


def test_an_endpoint_without_a_date_leaves_the_clock_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reach(monkeypatch, Answer()).clock_offset_s is None


def test_a_connection_that_fails_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reach(monkeypatch, urllib.error.URLError("certificate verify failed"))
    assert not found.tls and "certificate verify failed" in found.problem


def test_a_name_that_does_not_resolve_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(facts.socket, "getaddrinfo", unknown)
    assert facts.endpoint("https://acct.blob.core.windows.net").addresses == ()


def test_a_metadata_service_that_refuses_leaves_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "DIRECT", Opener(refused(400)))
    unknown: dict[str, str] = {}
    assert facts._imds("/x", unknown, "token") is None and "400" in unknown["token"]


def test_what_is_not_json_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "DIRECT", Opener(Answer(b"<html>")))
    unknown: dict[str, str] = {}
    assert facts._imds("/x", unknown, "vm_id") is None and "did not answer" in unknown["vm_id"]


def test_the_token_is_in_nothing_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "eyJ0eXAi.secret"
    bodies = {"instance": {"vmId": "v", "vmSize": "s"}, "identity": {"access_token": secret}}
    monkeypatch.setattr(facts, "_imds", lambda path, *_: next(b for name, b in bodies.items() if f"/{name}/" in path))
    contract = type("Contract", (), {"accounts": ()})()
    found = facts.collect(contract, "gpu-0", "client")  # type: ignore[arg-type]
    assert found.token is True and secret not in json.dumps(found.as_dict())


def test_what_programs_said_is_kept_beside_what_was_read_from_it() -> None:
    ask = facts.Asked()
    ask("no-such-program", "--version")
    assert "not installed" in ask.raw["no-such-program --version"]
