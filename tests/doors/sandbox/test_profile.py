"""What a VM size looks like in the sandbox."""

import pytest

from sandbox.nodes.profile import GPUS, MB, profile_of

DEMAND = 80 * MB  # of the sandbox stack's workload, per node


@pytest.mark.parametrize("size", sorted(GPUS))
def test_every_gpu_size_starves_from_disk_and_nic_but_not_from_nvme(size: str) -> None:
    profile = profile_of(size)
    assert profile.os_read is not None
    assert profile.os_read < profile.nic < DEMAND
    assert profile.nvme_bytes is not None


def test_the_size_is_read_in_any_case() -> None:
    assert profile_of("STANDARD_ND96ISR_H100_V5").gpus == 8


@pytest.mark.parametrize("size", ["Standard_D8s_v5", "Standard_NC24ads_A100_v4", "Standard_ND999_v9"])
def test_other_sizes_have_neither_gpus_nor_nvme(size: str) -> None:
    profile = profile_of(size)
    assert (profile.gpus, profile.nvme_bytes, profile.os_read) == (0, None, None)
