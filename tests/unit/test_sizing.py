"""The feed plan: what limits the feed, and whether it starves."""

import pytest

from feedline.catalog.nd_series import SIZES
from feedline.contract import Workload
from feedline.sizing import plan, remedies

H100 = SIZES["Standard_ND96isr_H100_v5"]
TB = 10**12


def workload(demand: float, dataset: int) -> Workload:
    """A workload whose accelerators together ask for `demand` bytes/s."""
    return Workload("w", 10**6, 1, 8 * 10**6 / demand, 8, 0.9, 1.2, 4, "v1", dataset, "test")


def test_a_data_set_that_fits_is_fed_by_the_nvme() -> None:
    found = plan(workload(2e9, 4 * TB), H100, 4, "preload")
    assert (found.bottleneck, found.fits_nvme, found.starved) == ("local NVMe", True, False)


def test_a_data_set_that_does_not_fit_streams_at_the_smallest_part_of_the_path() -> None:
    found = plan(workload(2e9, 40 * TB), H100, 16, "preload")
    assert found.mode.startswith("stream") and found.bottleneck == "account egress / nodes" and found.starved


def test_nodes_share_the_accounts_egress_while_staging() -> None:
    few, many = (plan(workload(1e9, 4 * TB), H100, nodes, "preload") for nodes in (1, 32))
    assert many.staging_s > few.staging_s


def test_demand_above_the_nvme_is_starved_by_construction_and_says_so() -> None:
    found = plan(workload(25e9, 4 * TB), H100, 1, "preload")
    assert found.starved and "STARVED BY CONSTRUCTION" in found.message and "NVMe" in remedies(found)


def test_ten_times_the_data_is_planned_as_such() -> None:
    assert not plan(workload(1e9, 4 * TB), H100, 1, "preload", scale=10).fits_nvme


def test_a_token_workload_is_told_not_to_be_bandwidth_critical() -> None:
    assert "not bandwidth-critical" in plan(workload(350e3, TB), H100, 1, "preload").message


def test_required_is_demand_times_target_times_headroom() -> None:
    assert plan(workload(1e9, TB), H100, 1, "preload").required_bytes_per_s == pytest.approx(1e9 * 0.9 * 1.2)
