"""The ingest gate can fail: a lost blob, a short one, a wrong hash, wrong bytes behind a right hash."""

from feedline.manifest import Entry, Manifest
from feedline.verdict import Status, worst
from feedline.verdicts.ingest import judge

MANIFEST = Manifest.of("v1", [Entry("a", 10, "aa", "A"), Entry("b", 20, "bb", "B")])
GOOD = {"a": (10, "aa"), "b": (20, "bb")}
READ = {"a": "A"}


def reasons(listed: dict[str, tuple[int, str]], read: dict[str, str]) -> set[str]:
    return {verdict.reason for verdict in judge(MANIFEST, listed, read, "ingest-0")}


def test_a_complete_data_set_passes() -> None:
    assert worst(v.status for v in judge(MANIFEST, GOOD, READ, "ingest-0")) is Status.PASS


def test_a_lost_blob_fails_and_is_named() -> None:
    verdicts = judge(MANIFEST, {"a": (10, "aa")}, READ, "ingest-0")
    assert (
        verdicts[0].reason == "MISSING_BLOBS"
        and "b" in verdicts[0].message
        and worst(v.status for v in verdicts) is Status.FAIL
    )


def test_a_blob_that_was_never_in_the_manifest_fails() -> None:
    assert "EXTRA_BLOBS" in reasons({**GOOD, "c": (1, "cc")}, READ)


def test_a_blob_of_another_size_fails() -> None:
    assert "WRONG_SIZE" in reasons({**GOOD, "b": (19, "bb")}, READ)


def test_a_wrong_hash_in_the_store_fails() -> None:
    assert "WRONG_HASH" in reasons({**GOOD, "b": (20, "xx")}, READ)


def test_a_blob_without_a_stored_hash_fails() -> None:
    assert "NO_HASH" in reasons({**GOOD, "b": (20, "")}, READ)


def test_wrong_bytes_behind_a_right_stored_hash_fail() -> None:
    assert "WRONG_CONTENT" in reasons(GOOD, {"a": "other"})


def test_nothing_read_back_is_not_a_pass() -> None:
    assert "NOTHING_READ" in reasons(GOOD, {})
