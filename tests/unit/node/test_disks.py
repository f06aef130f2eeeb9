"""Whole disks are found through partitions, RAID and LVM, on a fake /sys: this is what keeps other disks safe."""

from pathlib import Path

import pytest

from feedline.tools.mountinfo import Mounted
from node import disks


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """nvme0n1 (259:0) with partition nvme0n1p1 (259:1); nvme1n1 (259:2) + nvme2n1 (259:3) = md127; dm-0 on md127."""
    monkeypatch.setattr(disks, "SYS", str(tmp_path))
    monkeypatch.setattr(disks, "BY_INDEX", str(tmp_path / "by-index"))

    def device(name: str, number: str, *, below: str = "", slaves: tuple[str, ...] = ()) -> None:
        folder = tmp_path / "devices" / below / name
        folder.mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        (folder / "slaves").mkdir()
        (folder / "holders").mkdir()
        for group, key in (("dev/block", number), ("class/block", name)):
            (tmp_path / group).mkdir(parents=True, exist_ok=True)
            (tmp_path / group / key).symlink_to(folder)
        if below:
            (folder / "partition").write_text("1\n")
        else:
            (tmp_path / "block").mkdir(exist_ok=True)
            (tmp_path / "block" / name).symlink_to(folder)
        for slave in slaves:
            (folder / "slaves" / slave).symlink_to(tmp_path / "class/block" / slave)
            (tmp_path / "class/block" / slave / "holders" / name).symlink_to(folder)

    device("nvme0n1", "259:0")
    device("nvme0n1p1", "259:1", below="nvme0n1")
    device("nvme1n1", "259:2")
    device("nvme2n1", "259:3")
    device("md127", "9:127", slaves=("nvme1n1", "nvme2n1"))
    device("dm-0", "252:0", slaves=("md127",))
    return tmp_path


def mount(device: str, point: str, source: str = "x") -> Mounted:
    return Mounted(1, device, point, ("rw",), "ext4", source)


def test_a_partition_leads_to_its_disk(sys: Path) -> None:
    assert disks.whole("259:1") == {"259:0"}


def test_a_volume_on_a_raid_leads_to_every_member(sys: Path) -> None:
    assert disks.whole("252:0") == {"259:2", "259:3"}


def test_a_device_the_kernel_does_not_describe_is_itself(sys: Path) -> None:
    assert disks.whole("0:39") == {"0:39"}


def test_a_root_on_a_partition_marks_the_whole_disk(sys: Path) -> None:
    assert disks.in_use([mount("259:1", "/")])["259:0"] == ["/"]


def test_a_raid_mounted_by_any_name_marks_its_members(sys: Path) -> None:
    used = disks.in_use([mount("9:127", "/mnt/resource", "/dev/md127")])
    assert used["259:2"] == used["259:3"] == ["/mnt/resource"]


def test_a_partitions_name_is_no_disk(sys: Path) -> None:
    (sys / "by-index").mkdir()
    for name, target in (("0", "/dev/null"), ("0-part1", "/dev/zero")):
        (sys / "by-index" / name).symlink_to(target)
    assert disks.candidates() == ["/dev/null"]


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("Microsoft NVMe Direct Disk", ["/dev/nvme0n1"]),
        ("Microsoft NVMe Direct Disk v2", ["/dev/nvme0n1"]),
        ("MSFT NVMe Accelerator v1.0", []),
        ("", []),
    ],
)
def test_without_azures_names_only_the_model_counts(sys: Path, model: str, found: list[str]) -> None:
    (sys / "devices/nvme0n1/device").mkdir()
    (sys / "devices/nvme0n1/device/model").write_text(f"{model}   \n")
    assert disks.candidates() == found


def test_what_the_kernel_built_on_a_disk_is_named(sys: Path) -> None:
    assert disks._holder("nvme1n1") == "/dev/md127" and disks._holder("nvme0n1") == ""


def test_a_disk_named_by_azure_but_of_another_model_is_not_local(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sys / "by-index").mkdir()
    (sys / "by-index/0").symlink_to("/dev/nvme0n1")
    (sys / "devices/nvme0n1/device").mkdir()
    (sys / "devices/nvme0n1/device/model").write_text("MSFT NVMe Accelerator v1.0\n")
    monkeypatch.setattr(disks, "number", lambda path: "259:0")
    assert [disk.local for disk in disks.collect([])] == [False]


def test_only_the_disk_at_the_declared_lun_is_a_candidate_whatever_its_model(
    sys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sys / "by-lun").mkdir()
    (sys / "by-lun" / "0").symlink_to("/dev/null")
    monkeypatch.setattr(disks, "BY_LUN", (f"{sys}/by-lun/{{lun}}", f"{sys}/scsi1/lun{{lun}}"))
    assert disks.at_lun(0) == ["/dev/null"] and disks.at_lun(1) == []
    assert [(disk.path, disk.local, disk.node) for disk in disks.collect([], cache_lun=0)] == [
        ("/dev/null", True, False)
    ]
