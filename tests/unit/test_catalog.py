"""The catalogue's facts hold together: every name leads somewhere, every number is one of this world."""

import pytest

from feedline.catalog.nd_series import SIZES, Size
from feedline.catalog.regions import PAIRS
from feedline.catalog.workloads import PROFILES, generation
from feedline.units import GB, TIB
from sandbox.cloud.sizes import SIZES as SANDBOX_SIZES


@pytest.mark.parametrize("size", SIZES.values(), ids=lambda size: size.name)
def test_a_size_is_one_that_can_be_bought_and_says_where_its_facts_are_from(size: Size) -> None:
    assert SIZES[size.name] is size and size.name.startswith("Standard_ND") and size.source
    assert size.gpus in (4, 8) and size.vcpus >= 96 and size.arch in ("x86_64", "aarch64")
    assert 500 * GB < size.memory_bytes < 4 * TIB
    assert size.nvme_count >= 4 and 500 * GB < size.nvme_bytes < 5 * TIB


@pytest.mark.parametrize("size", SIZES.values(), ids=lambda size: size.name)
def test_bandwidths_are_bytes_and_bits_where_they_say_so(size: Size) -> None:
    # The front-end network of this family is 24 to 160 Gbit/s, a data-centre NVMe reads 1 to 15 GB/s.
    assert size.nic_bytes_per_s * 8 == size.nic_bits_per_s and 20e9 <= size.nic_bits_per_s <= 200e9
    assert 1 * GB <= size.nvme_read_bytes_per_s <= 15 * GB


def test_the_h100_node_has_28_tib_of_nvme() -> None:
    assert SIZES["Standard_ND96isr_H100_v5"].nvme_total_bytes == 28 * TIB


def test_the_simulated_subscription_sells_every_size_with_the_same_gpus_and_vcpus() -> None:
    for name, size in SIZES.items():
        sold = SANDBOX_SIZES[name]
        assert (sold.gpus, sold.vcpus, sold.rdma) == (size.gpus, size.vcpus, size.infiniband), name


def test_every_size_has_numbers_for_every_workload() -> None:
    names = {name for name, _ in PROFILES}
    missing = {(n, s.name) for n in names for s in SIZES.values() if (n, generation(s.gpu_name)) not in PROFILES}
    assert missing == set()


def test_a_newer_gpu_never_waits_longer_between_reads() -> None:
    for name, _ in PROFILES:
        assert PROFILES[name, "h100"].compute_s < PROFILES[name, "a100"].compute_s


def test_no_region_is_its_own_pair() -> None:
    assert [region for region, pair in PAIRS.items() if region == pair] == []
