"""How much a validation reads."""

import pytest

from feedline.contract import Workload
from feedline.manifest import Entry, Manifest
from feedline.plans.validate import MIN_STEPS, records, schedule

MIB = 1 << 20
WORK = Workload("w", MIB, 4, 0.42, 8, 0.9, 1.2, 2, "v1", 192 * MIB, "test")
SHARDS = Manifest.of("v1", [Entry(f"s{i:02}.bin", 16 * MIB, "m", "s") for i in range(12)])


def test_every_record_lies_inside_its_file_and_none_is_read_twice() -> None:
    found = records(SHARDS, 3 * MIB)
    assert all(r.offset + r.size <= 16 * MIB for r in found) and len(set(found)) == len(found) == 12 * 5


def test_a_record_larger_than_its_file_is_the_whole_file() -> None:
    assert [r.size for r in records(Manifest.of("v1", [Entry("a", 10, "", "")]), 99)] == [10]


def test_empty_files_hold_no_records() -> None:
    assert records(Manifest.of("v1", [Entry("a", 0, "", "")]), 4) == ()


def test_a_small_data_set_is_passed_over_several_times_until_enough_steps_are_counted() -> None:
    plan = schedule(SHARDS, WORK, free_bytes=10**10)
    assert plan.steps == 6 and plan.passes * (plan.steps - 1) >= MIN_STEPS


def test_the_cold_leg_reads_at_most_half_the_data_set_and_half_the_free_space() -> None:
    assert sum(e.size for e in schedule(SHARDS, WORK, free_bytes=10**10).cold) == 96 * MIB
    assert sum(e.size for e in schedule(SHARDS, WORK, free_bytes=70 * MIB).cold) == 32 * MIB


def test_a_data_set_too_small_to_judge_is_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="need 64 at least"):
        schedule(Manifest.of("v1", [Entry("a", 16 * MIB, "", "")]), WORK, free_bytes=10**10)
