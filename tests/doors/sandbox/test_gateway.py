"""The gateway's own programs: configuration, supervision, secrets, and what it says when something is missing."""

import asyncio
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from sandbox.gateway import Gateway, ensure_ca
from sandbox.gateway.azurite import Azurites
from sandbox.gateway.child import Child
from sandbox.gateway.nginx import render
from sandbox.gateway.tls import ensure_server_certificate
from sandbox.identity.tokens import Tokens
from sandbox.layout import Layout
from tests.doors.sandbox.small_cloud import small_cloud


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "a checkout" / "sandbox", tmp_path / "run", tmp_path / "cache")


async def until(condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        await asyncio.sleep(0.02)


def test_the_configuration_streams_both_ways_and_keeps_no_secret(layout: Layout) -> None:
    text = render(layout)
    for line in ("proxy_request_buffering off;", "proxy_buffering off;", "client_max_body_size 0;", "auth_request "):
        assert line in text
    assert f'server "unix:{layout.authorizer_socket}"' in text and "203.0.113.20:80" in text
    assert "@" not in text.replace("@answer", "").replace("@broken", "") and "sig=" not in text


def test_the_authority_is_made_once_and_signs_a_wildcard_for_both_services(layout: Layout) -> None:
    first = ensure_ca(layout).read_bytes()
    assert ensure_ca(layout).read_bytes() == first
    chain, key = ensure_server_certificate(layout)
    leaf = x509.load_pem_x509_certificate(chain.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    assert sorted(names) == ["*.blob.core.windows.net", "*.dfs.core.windows.net"]
    assert leaf.issuer == x509.load_pem_x509_certificate(first).subject
    assert {stat.S_IMODE(file.stat().st_mode) for file in (key, layout.keys / "ca.key")} == {0o600}


def test_a_program_that_dies_unasked_is_started_again_and_the_owner_is_told(tmp_path: Path) -> None:
    async def run() -> None:
        deaths: list[int] = []
        child = Child("sleeper", ["sleep", "60"], tmp_path / "log", on_exit=lambda: deaths.append(1))
        await child.start()
        first = child.pid
        child.signal(signal.SIGKILL)
        await until(lambda: child.pid not in (None, first))
        assert deaths == [1]
        await child.stop()
        assert child.pid is None and not child.supervised

    asyncio.run(run())


def test_a_program_is_restarted_though_a_child_of_it_still_holds_its_output(tmp_path: Path) -> None:
    async def run() -> None:
        child = Child("parent", ["bash", "-c", "sleep 60 & echo started; exit 3"], tmp_path / "log")
        await child.start()
        await until(lambda: (tmp_path / "log").exists() and (tmp_path / "log").read_text().count("started") >= 2)
        await child.stop()

    asyncio.run(run())


def test_signatures_never_reach_a_log_and_the_log_is_its_owners(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"

    async def run() -> None:
        child = Child("printer", [sys.executable, "-c", "print('GET /a?sv=1&sig=SECRET%3D&se=2 failed')"], log)
        await child.start()
        await until(lambda: log.exists() and "failed" in log.read_text())
        await child.stop()

    asyncio.run(run())
    assert "SECRET" not in log.read_text() and "sig=REDACTED&se=2" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_program_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    async def run() -> float:
        child = Child(
            "stubborn", ["bash", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], tmp_path / "log"
        )
        await child.start()
        await until(lambda: (tmp_path / "log").exists() and "ready" in (tmp_path / "log").read_text())
        begun = time.monotonic()
        await child.stop(grace_s=0.3)
        assert child.pid is None
        return time.monotonic() - begun

    assert asyncio.run(run()) < 3


def test_a_missing_program_is_named(layout: Layout) -> None:
    async def run() -> None:
        stores = Azurites(layout, small_cloud(), ["/nowhere/azurite"])
        with pytest.raises(RuntimeError, match="/nowhere/azurite"):
            await stores.backend("lake01")

    asyncio.run(run())
    key = layout.azurite / "lake01" / "account.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and len(key.read_bytes()) == 88


def test_a_store_of_no_account_is_refused(layout: Layout) -> None:
    with pytest.raises(RuntimeError, match="no storage account nobody"):
        asyncio.run(Azurites(layout, small_cloud(), ["true"]).backend("nobody"))


def test_the_gateway_names_the_addresses_it_misses_and_starts_nothing(layout: Layout, tmp_path: Path) -> None:
    gateway = Gateway(layout, small_cloud(), Tokens.open(tmp_path / "key.pem"), ["true"])
    with pytest.raises(RuntimeError, match=r"the bridge lacks .*203\.0\.113\.10"):
        asyncio.run(gateway.start())
    assert not layout.authorizer_socket.exists()
