"""The feed gate can fail, and says why: starvation, a cache on the OS disk, a page cache that poses as storage."""

from dataclasses import replace

from feedline.contract import Mount, Workload
from feedline.verdict import Status, Verdict, worst
from feedline.verdicts.feed import Counters, Leg, Placement, judge

MB = 10**6
WORK = Workload("w", 1 << 20, 4, 0.42, 8, 0.9, 1.2, 2, "v1", 200 * MB, "test")
MOUNT = Mount(
    "training-data",
    "/mnt/training-data",
    "a",
    "training-data",
    "train",
    "train",
    True,
    "preload",
    "/mnt/resource/cache",
)
NULL = Leg("null", Counters(0, 0, 0, 0, 2.0), au=0.99)
COLD = Leg("cold", Counters(100 * MB, 101 * MB, 0, 0, 2.0))
WARM = Leg("warm", Counters(200 * MB, 0, 200 * MB, 0, 2.5), au=0.97, data_wait=0.01)
SUPPLY = Leg("supply", Counters(200 * MB, 0, 200 * MB, 0, 0.5))
NVME = Placement("/mnt/resource/cache", "7:3", "7:2")


def verdicts(
    null: Leg = NULL, cold: Leg | None = COLD, warm: Leg = WARM, supply: Leg = SUPPLY, placement: Placement = NVME
) -> dict[str, Verdict]:
    return {
        v.check: v
        for v in judge(WORK, MOUNT, "gpu-0", null=null, cold=cold, warm=warm, supply=supply, placement=placement)
    }


def counted(leg: Leg, **changes: int | float | None) -> Leg:
    return replace(leg, counters=replace(leg.counters, **changes))


def test_a_fed_node_passes_every_line() -> None:
    assert worst(v.status for v in verdicts().values()) is Status.PASS


def test_a_cold_read_served_from_memory_is_invalid() -> None:
    assert verdicts(cold=counted(COLD, rx=74 * MB))["cold read"].reason == "COLD_WAS_NOT_COLD"


def test_a_cold_read_at_the_bound_passes() -> None:
    assert verdicts(cold=counted(COLD, rx=75 * MB))["cold read"].status is Status.PASS


def test_a_cold_leg_that_was_not_run_is_not_measured() -> None:
    assert verdicts(cold=None)["cold read"].status is Status.NOT_MEASURED


def test_a_warm_read_that_came_over_the_network_fails() -> None:
    verdict = verdicts(warm=counted(WARM, rx=11 * MB))["warm bytes from NVMe"]
    assert (verdict.status, verdict.reason) == (Status.FAIL, "NOT_FROM_CACHE")


def test_a_warm_read_from_the_page_cache_is_invalid_and_its_utilisation_untrusted() -> None:
    found = verdicts(warm=counted(WARM, disk=149 * MB))
    assert found["warm bytes from NVMe"].reason == "PAGE_CACHE"
    assert found["NVMe-warm feed"].status is Status.INVALID and found["supply"].status is Status.INVALID


def test_a_supply_leg_from_the_page_cache_is_invalid_too() -> None:
    assert verdicts(supply=counted(SUPPLY, disk=0))["warm bytes from NVMe"].status is Status.INVALID


def test_bytes_that_could_not_be_counted_never_pass() -> None:
    found = verdicts(warm=counted(WARM, rx=None), cold=counted(COLD, rx=None))
    assert found["warm bytes from NVMe"].reason == "NO_ENDPOINT_COUNTER" and found["cold read"].status is Status.INVALID


def test_a_starved_accelerator_fails_even_when_everything_else_is_well() -> None:
    verdict = verdicts(warm=replace(WARM, au=0.52))["NVMe-warm feed"]
    assert (verdict.status, verdict.reason) == (Status.FAIL, "STARVED")


def test_a_supply_below_the_requirement_fails() -> None:
    assert verdicts(supply=counted(SUPPLY, seconds=2.6))["supply"].reason == "SUPPLY_TOO_LOW"


def test_a_cache_on_the_device_of_the_root_fails_whatever_the_numbers() -> None:
    assert verdicts(placement=Placement("/var/cache", "7:2", "7:2"))["cache device"].reason == "CACHE_ON_OS_DISK"


def test_an_os_disk_that_moves_the_bytes_betrays_a_cache_on_it() -> None:
    assert verdicts(warm=counted(WARM, os_disk=40 * MB))["cache device"].reason == "CACHE_ON_OS_DISK"


def test_a_harness_that_cannot_reach_its_target_without_io_makes_the_feed_invalid() -> None:
    found = verdicts(null=replace(NULL, au=0.8))
    assert found["harness"].status is Status.INVALID and found["NVMe-warm feed"].status is Status.INVALID
