"""Which disks become the cache, and which never do."""

from dataclasses import replace

import pytest

from feedline.errors import OperationError
from feedline.facts import Disk, Nvme
from feedline.names import NVME_LABEL
from feedline.plans.nvme import plan

GIB = 2**30
BLANK = Disk("/dev/nvme0n1", True, True, 100 * GIB, "", "", "", False)
OURS = replace(BLANK, signature="xfs", label=NVME_LABEL)
OS = Disk("/dev/sda", True, True, 30 * GIB, "ext4", "root", "/", True)
READY = Nvme((), "", "", "protected", 0, True, True, True, "/opt/feedline/x", True)


def argvs(*disks: Disk, wipe: tuple[str, ...] = (), facts: Nvme = READY) -> list[str]:
    return [" ".join(step.argv[:2]) or step.path for step in plan(replace(facts, disks=disks), wipe=wipe).steps]


def test_one_blank_disk_gets_a_file_system_and_is_mounted() -> None:
    steps = plan(replace(READY, disks=(BLANK,))).steps
    assert [step.argv[0] for step in steps] == ["mkfs.xfs", "mount"]
    assert steps[0].argv[-1] == "/dev/nvme0n1" and not steps[0].destroys


def test_a_blank_disk_is_never_made_with_force() -> None:
    assert not [
        step for step in plan(replace(READY, disks=(BLANK,))).steps if "-f" in step.argv or "--force" in step.argv
    ]


def test_a_disk_with_our_label_is_only_mounted() -> None:
    assert argvs(OURS) == ["mount -o"]


def test_a_small_disk_gets_ext4_because_xfs_refuses_it() -> None:
    assert argvs(replace(BLANK, bytes=200 * 2**20))[0] == "mkfs.ext4 -q"


def test_several_blank_disks_become_one_raid_0() -> None:
    disks = tuple(replace(BLANK, path=f"/dev/nvme{n}n1") for n in range(8))
    steps = plan(replace(READY, disks=disks)).steps
    assert steps[0].argv[:2] == ("mdadm", "--create") and steps[0].argv[-8:] == tuple(d.path for d in disks)
    assert "--level=0" in steps[0].argv and steps[1].argv[0] == "mkfs.xfs"


def test_members_of_our_array_are_assembled_and_not_made_again() -> None:
    member = replace(BLANK, signature="linux_raid_member", label="gpu-0:feedline")
    assert argvs(member, replace(member, path="/dev/nvme1n1"))[0] == "mdadm --assemble"


def test_an_array_that_lost_a_member_is_told_and_not_made_again() -> None:
    member = replace(BLANK, signature="linux_raid_member", label="gpu-0:feedline", path="/dev/nvme1n1")
    with pytest.raises(OperationError, match="incomplete"):
        argvs(BLANK, member)


@pytest.mark.parametrize(
    "disk",
    [
        replace(BLANK, signature="ext4", label="somebody"),
        replace(BLANK, signature="gpt"),
        replace(BLANK, signature=None),
        replace(BLANK, mounted="/scratch"),
    ],
)
def test_a_disk_with_something_on_it_is_refused_and_named(disk: Disk) -> None:
    with pytest.raises(OperationError, match="/dev/nvme0n1"):
        argvs(disk)


def test_a_named_disk_is_wiped_first_and_the_plan_says_what_it_destroys() -> None:
    made = plan(replace(READY, disks=(replace(BLANK, signature="ext4"),)), wipe=("/dev/nvme0n1",))
    assert made.destroys == ("/dev/nvme0n1",) and made.steps[0].argv[0] == "wipefs"


def test_the_os_disk_is_never_a_candidate() -> None:
    with pytest.raises(OperationError, match="no local NVMe"):
        argvs(OS)


def test_a_disk_without_a_block_node_is_no_candidate() -> None:
    with pytest.raises(OperationError, match="no local NVMe"):
        argvs(replace(BLANK, node=False))


def test_something_else_at_the_mount_point_is_refused() -> None:
    with pytest.raises(OperationError, match="no local NVMe disk"):
        argvs(BLANK, facts=replace(READY, mounted_source="/dev/sdb1", mounted_type="ext4"))


def test_a_bare_mount_point_is_protected_before_anything_is_mounted() -> None:
    assert argvs(OURS, facts=replace(READY, mountpoint="missing"))[:2] == ["/mnt/resource", "chattr +i"]


def test_a_missing_unit_is_written_and_enabled() -> None:
    mounted = replace(OURS, mounted="/mnt/resource")
    facts = replace(READY, mounted_source="/dev/nvme0n1", mounted_type="xfs", unit_current=False, unit_enabled=False)
    assert argvs(mounted, facts=facts) == [
        "/etc/systemd/system/feedline-nvme.service",
        "systemctl daemon-reload",
        "systemctl enable",
    ]


def test_a_mounted_disk_with_its_unit_needs_nothing() -> None:
    facts = replace(
        READY, disks=(replace(OURS, mounted="/mnt/resource"),), mounted_source="/dev/nvme0n1", mounted_type="xfs"
    )
    assert not plan(facts) and "/dev/nvme0n1" in plan(facts).nothing_because


def test_the_label_fits_xfs() -> None:
    assert len(NVME_LABEL) <= 12


def test_a_declared_cache_disk_that_is_not_there_is_named_by_its_lun() -> None:
    with pytest.raises(OperationError, match="no disk at LUN 0"):
        plan(replace(READY, cache_lun=0))
