"""Where a sandbox keeps its things."""

from pathlib import Path

import pytest

from sandbox.layout import Layout


def test_two_checkouts_share_no_path_but_the_cache(tmp_path: Path) -> None:
    one, other = Layout.of(tmp_path / "one"), Layout.of(tmp_path / "other")
    assert one.root != other.root
    assert one.run != other.run
    assert one.cache == other.cache


def test_a_checkout_reached_by_a_link_is_the_same_sandbox(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Layout.of(tmp_path / "link") == Layout.of(tmp_path / "real")


def test_sockets_fit_into_a_unix_address_however_long_the_checkout_is(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path / ("long/" * 60))
    for socket in (layout.arm_socket, layout.authorizer_socket, layout.dial_socket):
        assert len(str(socket)) < 100


def test_the_cache_can_be_named_and_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("FEEDLINE_CACHE", raising=False)
    assert Layout.of(tmp_path).cache == tmp_path / "xdg" / "feedline"
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "own"))
    assert Layout.of(tmp_path).cache == tmp_path / "own"
