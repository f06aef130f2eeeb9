"""The NVMe gate can fail: nothing mounted, something else mounted, or nothing that does it at the next boot."""

from dataclasses import replace

from feedline.facts import Disk, Nvme
from feedline.verdict import Status
from feedline.verdicts.nvme import judge

DISK = Disk("/dev/nvme0n1", True, True, 10**12, "xfs", "feedlinenvme", "/mnt/resource", False)
FACTS = Nvme((DISK,), "/dev/nvme0n1", "xfs", "protected", 9 * 10**11, True, True, True, "/opt/feedline/x", True)


def reasons(facts: Nvme) -> list[str]:
    return [verdict.reason for verdict in judge(facts, "gpu-0")]


def test_local_nvme_that_comes_back_at_boot_passes() -> None:
    assert {verdict.status for verdict in judge(FACTS, "gpu-0")} == {Status.PASS}


def test_a_raid_passes_by_its_members_whatever_it_is_called() -> None:
    assert reasons(replace(FACTS, mounted_source="/dev/md127")) == ["OK", "OK"]


def test_nothing_mounted_fails() -> None:
    bare = replace(FACTS, disks=(replace(DISK, mounted=""),), mounted_source="", mounted_type="", free_bytes=0)
    assert reasons(bare)[0] == "NOT_ON_NVME"


def test_another_disk_at_the_mount_point_fails_even_by_our_arrays_name() -> None:
    other = replace(FACTS, disks=(replace(DISK, mounted=""),), mounted_source="/dev/md/feedline")
    assert reasons(other)[0] == "NOT_ON_NVME"


def test_a_disk_that_holds_the_root_too_is_not_the_nvme() -> None:
    assert reasons(replace(FACTS, disks=(replace(DISK, holds_root=True),)))[0] == "NOT_ON_NVME"


def test_a_unit_that_is_changed_disabled_or_without_its_program_fails() -> None:
    for name in ("unit_current", "unit_enabled", "tool_current"):
        assert reasons(replace(FACTS, **{name: False}))[1] == "NOT_AT_BOOT"
