"""What the node's own tools print is parsed here; texts are captured ones, shortened."""

import pytest

from feedline.tools import blkid, blobfuse2, cloud_init, mountinfo, nvidia_smi, systemd

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 7:2 / / rw,relatime shared:1 - ext4 /dev/loop2 rw
90 27 7:3 / /mnt/resource rw,nosuid,nodev,noatime shared:40 - xfs /dev/loop3 rw,attr2
95 27 0:52 / /mnt/training-data ro,nosuid,nodev,relatime shared:44 - fuse blobfuse2 ro,user_id=0,max_read=1048576
97 27 0:60 / /mnt/my\040data rw - tmpfs tmpfs rw
98 27 0:61 / /mnt/resource rw - tmpfs over rw
"""


def test_a_mount_is_read_with_its_device_source_and_options() -> None:
    found = mountinfo.at(mountinfo.parse(MOUNTINFO), "/mnt/training-data")
    assert found and (found.mount_id, found.device, found.kind, found.source) == (95, "0:52", "fuse", "blobfuse2")
    assert "ro" in found.options and "max_read=1048576" in found.options


def test_the_uppermost_mount_counts_unless_a_type_is_asked_for() -> None:
    mounts = mountinfo.parse(MOUNTINFO)
    top, below = mountinfo.at(mounts, "/mnt/resource"), mountinfo.at(mounts, "/mnt/resource", kind="xfs")
    assert top and below and (top.source, below.source) == ("over", "/dev/loop3")


def test_a_space_in_a_mount_point_is_a_space() -> None:
    assert mountinfo.at(mountinfo.parse(MOUNTINFO), "/mnt/my data")


def test_nothing_is_mounted_where_nothing_is_mounted() -> None:
    assert mountinfo.at(mountinfo.parse(MOUNTINFO), "/mnt") is None and mountinfo.parse("rubbish\n") == []


@pytest.mark.parametrize(
    ("rc", "out", "found"),
    [
        (2, "", ("", "")),
        (0, "DEVNAME=/dev/nvme0n1\nLABEL=feedlinenvme\nTYPE=xfs\nUSAGE=filesystem\n", ("xfs", "feedlinenvme")),
        (0, "DEVNAME=/dev/nvme0n1\nPTTYPE=gpt\n", ("gpt", "")),
        (0, "DEVNAME=/dev/nvme0n1\n", (None, "")),
        (8, "", (None, "")),
        (2, "blkid: error: /dev/nvme0n1: Permission denied", (None, "")),
        (127, "", (None, "")),
        (124, "", (None, "")),
    ],
)
def test_only_a_clear_nothing_is_blank(rc: int, out: str, found: tuple[str | None, str]) -> None:
    assert blkid.signature(rc, out) == found


def test_a_units_state_is_read() -> None:
    unit = systemd.parse("MainPID=4586\nActiveState=active\nInvocationID=1f\nUnitFileState=enabled\n")
    assert unit == systemd.Unit("active", 4586, "1f", True)


def test_a_silent_systemd_means_unknown_and_no_process() -> None:
    assert systemd.parse("") == systemd.Unit("unknown", None, "", False)
    assert systemd.parse("MainPID=0\nActiveState=inactive\n").main_pid is None


def test_gpus_are_counted_and_mig_instances_are_not() -> None:
    said = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n  MIG 1g.10gb     Device  0: (UUID: MIG-1)\nGPU 1: NVIDIA H100\n"
    )
    assert nvidia_smi.count(said) == 2 and nvidia_smi.count("No devices found\n") == 0


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("status: done\ntime: Tue, 01 Dec 2026 08:57:20 +0000\ndetail:\nDataSourceNoCloud\n", "done"),
        ("status: running\n", "running"),
        ("status: done\nextended_status: degraded done\nboot_status_code: enabled-by-generator\n", "degraded done"),
        ("status: error\nextended_status: error - done\n", "error - done"),
        ("Traceback (most recent call last):\n", None),
        ("", None),
    ],
)
def test_how_the_first_boot_ended(said: str, status: str | None) -> None:
    assert cloud_init.status(said) == status


def test_fuses_version_is_found_in_what_it_prints() -> None:
    assert blobfuse2.fuse_version("fusermount3 version: 3.14.0\n") == "3.14.0" and blobfuse2.fuse_version("") is None


def test_other_users_are_allowed_by_a_line_and_not_by_a_comment() -> None:
    assert blobfuse2.allows_other("# mount_max = 1000\nuser_allow_other\n")
    assert not blobfuse2.allows_other("#user_allow_other\n# user_allow_other\n")


def test_a_file_caches_limit_is_read_in_bytes() -> None:
    assert blobfuse2.max_bytes("file_cache:\n  path: /x\n  max-size-mb: 100\n") == 100 * 2**20
    assert blobfuse2.max_bytes("file_cache:\n  path: /x\n") is None
