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


def test_another_daemon_makes_the_record_worthless(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest(cache)
    survey(wanted, cache, pid=1)
    hashed: list[str] = []
    monkeypatch.setattr(presence, "_sha256", lambda path: hashed.append(path) or "x")
    survey(wanted, cache, pid=2)
    assert hashed
