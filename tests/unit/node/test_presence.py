"""Presence is measured on real files: allocated blocks and hashes, and hashing again only what changed."""

import hashlib
import os
from pathlib import Path

import pytest

from feedline.manifest import Entry, Manifest
from node import presence

SIZE = 1 << 20


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(presence, "record_path", lambda mount: str(tmp_path / "record.json"))
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "a").write_bytes(os.urandom(SIZE))
    return folder


def manifest(cache: Path) -> Manifest:
    data = (cache / "a").read_bytes()
    return Manifest.of("v1", [Entry("a", len(data), "", hashlib.sha256(data).hexdigest())])


def survey(found: Manifest, cache: Path, pid: int = 1) -> dict[str, presence.Cached]:
    return presence.survey(found, str(cache), "m", {"main_pid": pid}, lambda *_, **__: None, again=False)


def test_a_written_file_is_allocated_and_hashed(cache: Path) -> None:
    found = survey(manifest(cache), cache)["a"]
    assert found.allocated >= SIZE and found.sha256 == manifest(cache).entries[0].sha256


def test_a_sparse_file_of_full_length_is_seen_as_sparse(cache: Path) -> None:
    wanted = manifest(cache)
    (cache / "a").unlink()
    with (cache / "a").open("wb") as file:
        file.truncate(SIZE)
    found = survey(wanted, cache)["a"]
    assert found.size == SIZE and found.allocated < SIZE


def test_a_missing_file_is_missing(cache: Path) -> None:
    wanted = manifest(cache)
    (cache / "a").unlink()
    assert survey(wanted, cache) == {}


def test_an_unchanged_file_is_not_hashed_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest(cache)
    survey(wanted, cache)
    monkeypatch.setattr(presence, "_sha256", lambda path: pytest.fail("hashed again"))
    assert survey(wanted, cache)["a"].sha256 == wanted.entries[0].sha256


def test_a_changed_byte_is_found_although_a_record_exists(cache: Path) -> None:
    wanted = manifest(cache)
    survey(wanted, cache)
    with (cache / "a").open("r+b") as file:
        file.write(b"\0\0\0\0")
    assert survey(wanted, cache)["a"].sha256 != wanted.entries[0].sha256


def said(*_: object, **__: object) -> None:
    return None


def test_loading_is_waited_for_until_it_is_all_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, sleeps = manifest(cache), []
    data = (cache / "a").read_bytes()
    (cache / "a").unlink()

    def arrive(_: float) -> None:
        sleeps.append(1)
        (cache / "a").write_bytes(data)
        os.sync()

    monkeypatch.setattr(presence.time, "sleep", arrive)
    presence.wait_loaded(wanted, str(cache), "m", {"main_pid": 1}, said)
    assert sleeps == [1]


def test_loading_that_stands_still_is_given_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest(cache)
    (cache / "a").unlink()
    monkeypatch.setattr(presence, "STALL_S", 0.05)
    monkeypatch.setattr(presence, "POLL_S", 0.01)
    presence.wait_loaded(wanted, str(cache), "m", {"main_pid": 1}, said)


def test_a_daemon_that_had_loaded_everything_is_not_waited_for_when_a_file_is_gone(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = manifest(cache)
    survey(wanted, cache)
    (cache / "a").unlink()
    monkeypatch.setattr(presence.time, "sleep", lambda _: pytest.fail("waited"))
    presence.wait_loaded(wanted, str(cache), "m", {"main_pid": 1}, said)


def test_a_file_cache_is_filled_through_the_mount_by_opening_what_is_missing(cache: Path) -> None:
    wanted = manifest(cache)
    mounted = cache.parent / "mounted"
    mounted.mkdir()
    (mounted / "a").write_bytes((cache / "a").read_bytes())
    (cache / "a").unlink()
    opened: list[float] = []
    presence.fetch(wanted, str(mounted), str(cache), lambda *_, **numbers: opened.append(numbers["done"]))
    presence.fetch(wanted, str(mounted), str(mounted), lambda *_, **__: pytest.fail("it is there already"))
    assert opened == [SIZE]


def test_a_file_that_cannot_be_opened_stays_missing_and_stops_nothing(cache: Path) -> None:
    wanted = manifest(cache)
    presence.fetch(wanted, "/nowhere", str(cache.parent / "empty"), said)


def test_a_file_that_cannot_be_read_has_no_hash_and_is_read_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, read = manifest(cache), presence._sha256
    monkeypatch.setattr(presence, "_sha256", lambda path: "")
    assert survey(wanted, cache)["a"].sha256 == ""
    monkeypatch.setattr(presence, "_sha256", read)
    assert survey(wanted, cache)["a"].sha256 == wanted.entries[0].sha256


def test_a_record_cut_off_by_a_power_failure_is_no_record(cache: Path) -> None:
    wanted = manifest(cache)
    (cache.parent / "record.json").write_text('{"manifest": "')
    assert survey(wanted, cache)["a"].sha256 == wanted.entries[0].sha256


def test_another_daemon_makes_the_record_worthless(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest(cache)
    survey(wanted, cache, pid=1)
    hashed: list[str] = []
    monkeypatch.setattr(presence, "_sha256", lambda path: hashed.append(path) or "x")
    survey(wanted, cache, pid=2)
    assert hashed
