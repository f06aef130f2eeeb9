"""The cache gate can fail: a sparse file of full length, a wrong byte, a missing file, a cache on the OS disk."""

from dataclasses import replace

from feedline.contract import Mount
from feedline.facts import MountFacts
from feedline.manifest import Entry, Manifest
from feedline.verdict import Status
from feedline.verdicts.cache import Cached, Sealed, judge_mount, judge_presence

MOUNT = Mount(
    "training-data",
    "/mnt/training-data",
    "a",
    "training-data",
    "train",
    "train",
    True,
    "preload",
    "/mnt/resource/blobfuse2cache/training-data",
)
MANIFEST = Manifest.of("v1", [Entry("a", 4096, "m", "A"), Entry("b", 8192, "m", "B")])
FULL = {"a": Cached(4096, 4096, "A"), "b": Cached(8192, 8192, "B")}
FACTS = MountFacts(
    "training-data",
    "/mnt/training-data",
    True,
    True,
    True,
    42,
    "7",
    "active",
    "/etc/feedline/training-data.yaml",
    "c1",
    MOUNT.cache,
    "7:3",
    "7:2",
    "boot",
    "u1",
    loaded_config="c1",
    loaded_unit="u1",
    enabled=True,
)


def presence(files: dict[str, Cached], limit: int | None = None) -> tuple[Status, str]:
    verdict = judge_presence(MOUNT, Sealed(MANIFEST), files, "gpu-0", limit_bytes=limit)
    return verdict.status, verdict.reason


def reasons(facts: MountFacts) -> list[str]:
    return [verdict.reason for verdict in judge_mount(MOUNT, facts, "gpu-0", config_sha256="c1")]


def test_a_complete_cache_passes() -> None:
    assert presence(FULL) == (Status.PASS, "OK")


def test_a_sparse_file_of_full_length_fails() -> None:
    assert presence({**FULL, "b": Cached(8192, 4096, "B")}) == (Status.FAIL, "CACHE_SPARSE")


def test_a_wrong_byte_fails() -> None:
    assert presence({**FULL, "b": Cached(8192, 8192, "X")}) == (Status.FAIL, "CACHE_WRONG_HASH")


def test_a_missing_file_and_a_short_one_fail() -> None:
    assert presence({"a": FULL["a"]}) == (Status.FAIL, "CACHE_INCOMPLETE")
    assert presence({**FULL, "b": Cached(8191, 8192, "B")}) == (Status.FAIL, "CACHE_INCOMPLETE")


def test_a_file_that_was_not_hashed_is_not_measured() -> None:
    assert presence({**FULL, "b": Cached(8192, 8192, "")}) == (Status.NOT_MEASURED, "NOT_HASHED")


def test_a_data_set_without_a_seal_fails_and_names_the_task() -> None:
    sealed = Sealed(None, "DATASET_NOT_SEALED", "no seal")
    verdict = judge_presence(MOUNT, sealed, FULL, "gpu-0")
    assert (verdict.status, verdict.reason) == (Status.FAIL, "DATASET_NOT_SEALED") and "fab ingest" in verdict.hint


def test_a_data_set_that_cannot_be_read_is_not_called_unsealed() -> None:
    sealed = Sealed(None, "DATASET_UNREADABLE", "/mnt/x: Input/output error")
    verdict = judge_presence(MOUNT, sealed, {}, "gpu-0")
    assert verdict.reason == "DATASET_UNREADABLE" and "Input/output" in verdict.message and "access" in verdict.hint


def test_a_data_set_that_would_be_thrown_out_again_fails_even_while_it_is_there() -> None:
    assert presence(FULL, limit=MANIFEST.bytes) == (Status.FAIL, "CACHE_TOO_SMALL")
    assert presence(FULL, limit=MANIFEST.bytes * 2) == (Status.PASS, "OK")


def test_a_mount_as_configured_passes() -> None:
    assert reasons(FACTS) == ["OK", "OK"]


def test_a_cache_on_the_device_of_the_root_fails() -> None:
    assert "CACHE_ON_OS_DISK" in reasons(replace(FACTS, cache_device="7:2"))


def test_a_cache_somewhere_else_than_the_contract_says_fails() -> None:
    assert "CONFIG_CHANGED" in reasons(replace(FACTS, cache_path="/mnt/resource/mine"))


def test_a_dead_or_writable_mount_fails() -> None:
    assert reasons(replace(FACTS, live=False))[0] == "NOT_MOUNTED"
    assert reasons(replace(FACTS, read_only=False))[0] == "NOT_MOUNTED"


def test_another_configuration_than_the_contracts_fails() -> None:
    assert "CONFIG_CHANGED" in reasons(replace(FACTS, config_sha256="other"))


def test_a_daemon_started_from_an_earlier_configuration_fails_although_the_file_is_right() -> None:
    assert "CONFIG_CHANGED" in reasons(replace(FACTS, loaded_config="earlier"))
    assert "CONFIG_CHANGED" in reasons(replace(FACTS, loaded_config=""))
