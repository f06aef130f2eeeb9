"""The feed plan: what limits the feed, whether it starves, and what helps then."""

import pytest

from feedline.catalog.nd_series import SIZES
from feedline.catalog.storage import Limits, limits
from feedline.contract import Workload
from feedline.sizing import FeedPlan, Supply, cache, ingest_seconds, ingest_size, plan

H100 = SIZES["Standard_ND96isr_H100_v5"]
LARGE = limits("swedencentral")
TB = 10**12


def workload(demand: float, dataset: int) -> Workload:
    """A workload whose accelerators together ask for `demand` bytes/s."""
    return Workload("w", 10**6, 1, 8 * 10**6 / demand, 8, 0.9, 1.2, 4, "v1", dataset, "test")


def planned(demand: float, dataset: int, nodes: int, *, scale: int = 1, accounts: int = 1) -> FeedPlan:
    supply = Supply(nodes, LARGE, accounts)
    return plan(workload(demand, dataset), H100, supply, "preload", cache(H100), scale=scale)


def test_a_data_set_that_fits_is_fed_by_the_nvme() -> None:
    found = planned(2e9, 4 * TB, 4)
    assert (found.bottleneck, found.fits_nvme, found.starved, found.accounts) == ("local NVMe", True, False, 1)


def test_a_data_set_that_does_not_fit_streams_at_the_smallest_part_of_the_path() -> None:
    found = planned(2e9, 40 * TB, 16)
    assert found.mode.startswith("stream") and found.bottleneck == "account egress / nodes" and found.starved


def test_what_helps_is_named_in_the_order_in_which_to_try_it_with_numbers() -> None:
    # 16 nodes x 2.16 GB/s = 34.6 GB/s = 276 Gbit/s: two accounts of 200 Gbit/s.
    found = planned(2e9, 40 * TB, 16)
    assert found.accounts == 2
    asked, passed_on, copies, hot = found.remedies
    assert "276 Gbit/s" in asked and "node to node" in passed_on and copies.startswith("2 full copies") and "hot" in hot


def test_copies_in_further_accounts_share_the_load() -> None:
    assert planned(2e9, 40 * TB, 16).starved and not planned(2e9, 40 * TB, 16, accounts=2).starved


def test_small_requests_can_be_what_an_account_runs_out_of() -> None:
    few = Limits(egress_bits_per_s=1e15, ingress_bits_per_s=1e15, requests_per_s=100)
    found = plan(workload(2e9, 40 * TB), H100, Supply(16, few), "preload", cache(H100))
    assert found.bottleneck == "account requests / nodes" and found.accounts > 1


def test_nodes_share_the_accounts_egress_while_staging() -> None:
    assert planned(1e9, 4 * TB, 32).staging_s > planned(1e9, 4 * TB, 1).staging_s


def test_demand_above_the_nvme_is_starved_by_construction_and_says_so() -> None:
    found = planned(25e9, 4 * TB, 1)
    assert found.starved and "STARVED BY CONSTRUCTION" in found.message and "faster cache" in found.remedies[0]


def test_ten_times_the_data_is_planned_as_such() -> None:
    assert not planned(1e9, 4 * TB, 1, scale=10).fits_nvme
    assert planned(1e9, 4 * TB, 1, scale=10).usd_per_month == pytest.approx(10 * planned(1e9, 4 * TB, 1).usd_per_month)


def test_a_token_workload_is_told_not_to_be_bandwidth_critical_with_the_arithmetic() -> None:
    said = planned(350e3, TB, 1).message
    assert "not bandwidth-critical: 378 kB/s is below 1%" in said and "checkpoints and metadata decide" in said


def test_required_is_demand_times_target_times_headroom() -> None:
    assert planned(1e9, TB, 1).required_bytes_per_s == pytest.approx(1e9 * 0.9 * 1.2)


def test_an_ephemeral_os_disk_takes_a_whole_disk_from_the_cache() -> None:
    assert cache(H100, ephemeral_os=True).total_bytes == cache(H100).total_bytes - H100.nvme_bytes


def test_a_managed_cache_disk_reads_what_the_size_lets_its_disks_read() -> None:
    found = cache(H100, disk_gib=4096)
    assert (found.name, found.read_bytes_per_s) == ("managed cache disk", 612e6)


def test_smaller_regions_have_smaller_accounts() -> None:
    assert limits("italynorth").egress_bits_per_s < LARGE.egress_bits_per_s


@pytest.mark.parametrize(
    ("dataset", "hours", "size"),
    [(TB, 24, "Standard_D4s_v5"), (300 * TB, 24, "Standard_D64s_v5"), (10**18, 1, "Standard_D96s_v5")],
)
def test_the_ingest_node_is_the_smallest_that_is_in_time(dataset: int, hours: float, size: str) -> None:
    assert ingest_size(dataset, hours) == size


def test_ingestion_is_bound_by_the_smaller_of_network_and_account() -> None:
    assert ingest_seconds(TB, "Standard_D4s_v5", LARGE) == pytest.approx(8 * TB / 12.5e9)
    assert ingest_seconds(TB, "Standard_D96s_v5", limits("italynorth")) == pytest.approx(8 * TB / 25e9)
