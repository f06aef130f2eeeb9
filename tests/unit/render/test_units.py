"""The units hold what took others days: order, checks before the start, an orderly stop, a clean environment."""

import re

from feedline.contract import Mount
from feedline.render.units import RESTART_S, mount_unit_file, nvme_unit

MOUNT = Mount("training-data", "/mnt/training-data", "a", "training-data", "train", "train", True, "preload",
              "/mnt/resource/blobfuse2cache/training-data")  # fmt: skip
UNIT = mount_unit_file(MOUNT)


def values(unit: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)


def test_a_mount_waits_for_the_nvme_and_goes_down_before_it() -> None:
    assert values(UNIT, "Requires") == ["feedline-nvme.service"] and "feedline-nvme.service" in values(UNIT, "After")[0]
    assert values(UNIT, "RequiresMountsFor") == ["/mnt/resource"]


def test_the_daemon_stays_in_the_foreground_and_the_unit_is_up_only_with_the_mount() -> None:
    assert values(UNIT, "Type") == ["simple"] and values(UNIT, "ExecStart")[0].endswith(" --foreground")
    assert "guard.py mounted /mnt/training-data" in values(UNIT, "ExecStartPost")[0]


def test_the_cache_disk_is_checked_before_every_start() -> None:
    check = values(UNIT, "ExecStartPre")[0]
    assert check.endswith("guard.py start training-data /mnt/resource/blobfuse2cache") and not check.startswith("-")


def test_a_stop_unmounts_and_what_is_left_is_taken_away() -> None:
    assert values(UNIT, "ExecStop") == ["/usr/bin/blobfuse2 unmount /mnt/training-data"]
    assert values(UNIT, "ExecStopPost") == ["-/usr/bin/fusermount3 -uz /mnt/training-data"]


def test_whoever_restarts_a_mount_waits_longer_than_stop_and_start_may_take() -> None:
    stop, start = (int(values(UNIT, key)[0]) for key in ("TimeoutStopSec", "TimeoutStartSec"))
    assert stop + start <= RESTART_S


def test_no_variable_of_somebody_elses_reaches_the_daemon() -> None:
    gone = values(UNIT, "UnsetEnvironment")[0].split()
    assert len(gone) == len(set(gone))
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_IDENTITY_RESOURCE_ID", "AZURE_STORAGE_SPN_CLIENT_SECRET",
                 "AZURE_OAUTH_TOKEN_FILE", "IDENTITY_ENDPOINT", "MSI_ENDPOINT", "IMDS_ENDPOINT"):  # fmt: skip
        assert name in gone
    assert values(UNIT, "Environment") == ["HOME=/root"]


def test_the_nvme_is_made_again_at_every_boot_by_a_copy_that_no_bundle_replaces() -> None:
    unit = nvme_unit()
    assert values(unit, "ExecStart") == ["/usr/bin/python3 -I /usr/local/lib/feedline/node/__main__.py boot"]
    assert "local-fs.target" in values(unit, "After")[0] and values(unit, "RemainAfterExit") == ["yes"]


def test_the_boot_unit_tells_the_lun_of_a_managed_cache_disk_by_stdin() -> None:
    assert "StandardInput=null" in nvme_unit()
    assert 'StandardInput=data\nStandardInputText={"options": {"cache_lun": 0}}' in nvme_unit(0)
