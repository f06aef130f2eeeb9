"""What has to change for every mount to be there; a mount that is right is not touched."""

from dataclasses import replace

import pytest

from feedline.contract import Mount
from feedline.errors import OperationError
from feedline.facts import MountFacts
from feedline.plan import Plan
from feedline.plans.cache import Wanted, cache_share, plan
from feedline.render.units import MOUNT_WAIT_S, STOP_WAIT_S

WANTED = Wanted("training-data", "/mnt/training-data", "config", "unit", "c1", "u1")
RIGHT = MountFacts(
    "training-data",
    "/mnt/training-data",
    True,
    True,
    True,
    42,
    "7",
    "active",
    "/etc/feedline/training-data.yaml",
    "c1",
    "/mnt/resource/x",
    "7:3",
    "7:2",
    "boot",
    "u1",
    loaded_config="c1",
    loaded_unit="u1",
    enabled=True,
)
ABSENT = MountFacts(
    "training-data", "/mnt/training-data", False, False, False, None, "", "inactive",
    "/etc/feedline/training-data.yaml", "", None, None, "7:2", "boot",
)  # fmt: skip


def made(fact: MountFacts, *, nvme: bool = True, fuse_conf: str = "user_allow_other\n", there: bool = True) -> Plan:
    return plan([WANTED], [fact], nvme_mounted=nvme, fuse_conf=fuse_conf, folders=[WANTED.path] if there else [])


def words(found: Plan) -> list[str]:
    return [" ".join(step.argv[:2]) or step.path for step in found.steps]


def test_a_mount_that_is_right_needs_nothing() -> None:
    assert not made(RIGHT) and "as configured" in made(RIGHT).nothing_because


def test_an_absent_mount_is_configured_enabled_and_started() -> None:
    assert words(made(ABSENT, there=False)) == [
        "/mnt/training-data",
        "/etc/feedline",
        "/var/log/feedline",
        "/etc/feedline/training-data.yaml",
        "/etc/systemd/system/feedline-mount-training-data.service",
        "systemctl daemon-reload",
        "systemctl enable",
        "systemctl restart",
    ]


def test_the_configuration_is_readable_by_root_only() -> None:
    assert [s.mode for s in made(ABSENT).steps if s.path.endswith(".yaml")] == [0o600]


def test_a_changed_configuration_restarts_that_mount() -> None:
    assert words(made(replace(RIGHT, config_sha256="old")))[-1] == "systemctl restart"


def test_a_daemon_started_with_another_configuration_is_restarted_with_ours() -> None:
    assert "systemctl restart" in words(made(replace(RIGHT, config_path="/tmp/mine.yaml")))


def test_a_dead_mount_is_taken_away_and_started_again() -> None:
    assert words(made(replace(RIGHT, live=False))) == ["fusermount3 -uz", "systemctl restart"]


def test_a_failed_unit_is_reset_first() -> None:
    assert words(made(replace(RIGHT, mounted=False, live=False, unit_active="failed")))[0] == "systemctl reset-failed"


def test_without_the_nvme_nothing_is_mounted_at_all() -> None:
    with pytest.raises(OperationError, match="NVMe is not mounted"):
        made(ABSENT, nvme=False)


def test_other_users_are_allowed_before_the_first_mount() -> None:
    assert words(made(ABSENT, fuse_conf="# none\n"))[0] == "/etc/fuse.conf"


def test_a_restart_is_waited_for_as_long_as_it_may_take() -> None:
    assert made(replace(RIGHT, loaded_config="old")).steps[-1].timeout_s > STOP_WAIT_S + MOUNT_WAIT_S


DATA = Mount("d", "/d", "a", "d", "train", "train", True, "preload", "/mnt/resource/blobfuse2cache/d")
CHECKPOINTS = replace(DATA, name="c", path="/c", read_only=False, mode="file_cache")


def test_a_preloaded_data_set_and_the_file_caches_share_the_disk() -> None:
    assert cache_share((DATA, CHECKPOINTS), disk_bytes=1000, dataset_bytes=600) == 400
    assert cache_share((DATA, CHECKPOINTS, replace(CHECKPOINTS, name="e")), disk_bytes=1000, dataset_bytes=600) == 200


def test_a_cached_data_set_takes_its_place_by_its_own_limit() -> None:
    both = (replace(DATA, mode="file_cache"), CHECKPOINTS)
    assert cache_share(both, disk_bytes=1000, dataset_bytes=5000) == 500


def test_a_data_set_that_does_not_fit_is_refused_before_it_fills_the_disk() -> None:
    with pytest.raises(OperationError, match="does not fit"):
        cache_share((DATA, CHECKPOINTS), disk_bytes=1000, dataset_bytes=801)


def test_without_a_disk_there_is_nothing_to_share() -> None:
    assert cache_share((DATA,), disk_bytes=0, dataset_bytes=10) == 0
