"""How a mount is, told from fakes of what the kernel and systemd say."""

import json
from pathlib import Path

import pytest

from feedline.contract import Mount
from feedline.facts import MountFacts
from node import door, mounts

MOUNT = Mount("data", "/mnt/data", "a", "data", "train", "train", True, "preload", "/mnt/resource/blobfuse2cache/data")
HERE = "95 27 0:52 / /mnt/data ro,nosuid shared:44 - fuse blobfuse2 rw,user_id=0\n"
CONFIG = "xload:\n  path: /\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Files by path; what they say may be changed by a test."""
    files = {
        "/proc/self/mountinfo": HERE,
        "/proc/42/cmdline": "/usr/bin/blobfuse2\0mount\0/mnt/data\0--config-file=/etc/feedline/data.yaml\0",
        "/proc/42/stat": "42 (blob fuse2) S 1 " + " ".join(map(str, range(5, 30))),
        "/proc/sys/kernel/random/boot_id": "boot-1\n",
        "/etc/feedline/data.yaml": CONFIG,
        "/etc/systemd/system/feedline-mount-data.service": "unit",
        "/run/feedline/started-data.json": json.dumps({"invocation": "1f", "config_sha256": "c", "unit_sha256": "u"}),
        "systemctl": "ActiveState=active\nMainPID=42\nInvocationID=1f\nUnitFileState=enabled\n",
        "stat": "0",
    }
    monkeypatch.setattr(door, "read", files.get)
    monkeypatch.setattr(
        door, "run", lambda argv, **_: door.Done(int(files["stat"]) if argv[0] == "stat" else 0, files[argv[0]], "")
    )
    return files


def facts() -> MountFacts:
    return mounts.mount_facts(MOUNT)


def test_a_mount_is_told_with_what_its_verdicts_are_bound_to(node: dict[str, str]) -> None:
    found = facts()
    assert (found.mounted, found.live, found.read_only, found.enabled) == (True, True, True, True)
    assert found.binding == {
        "boot_id": "boot-1", "mount_id": 95, "main_pid": 42, "started": "22", "config_sha256": mounts._sha256(CONFIG),
    }  # fmt: skip
    assert (found.loaded_config, found.loaded_unit) == ("c", "u")


def test_a_note_of_an_earlier_start_says_nothing_about_this_daemon(node: dict[str, str]) -> None:
    node["systemctl"] = node["systemctl"].replace("1f", "20")
    assert (facts().loaded_config, facts().loaded_unit) == ("", "")


@pytest.mark.parametrize("note", ["", "{", "[]", '{"invocation": ""}'])
def test_a_note_that_is_none_says_nothing(node: dict[str, str], note: str) -> None:
    node["/run/feedline/started-data.json"] = note
    assert facts().loaded_config == ""


def test_the_configuration_on_the_daemons_command_line_counts(node: dict[str, str]) -> None:
    node["/proc/42/cmdline"] = "blobfuse2\0mount\0/mnt/data\0--config-file\0/tmp/mine.yaml\0"
    node["/tmp/mine.yaml"] = "file_cache:\n  path: /tmp\n"
    assert (facts().config_path, facts().cache_path) == ("/tmp/mine.yaml", "/tmp")


def test_a_mount_that_does_not_answer_is_there_and_not_alive(node: dict[str, str]) -> None:
    node["stat"] = "124"
    assert (facts().mounted, facts().live) == (True, False)


def test_nothing_mounted_has_no_cache_and_no_mount_id(node: dict[str, str]) -> None:
    node["/proc/self/mountinfo"] = ""
    found = facts()
    assert (found.mounted, found.live, found.cache_path, found.mount_id) == (False, False, None, None)


def test_another_file_system_at_the_mount_point_is_no_mount_of_ours(node: dict[str, str]) -> None:
    node["/proc/self/mountinfo"] = "95 27 0:52 / /mnt/data rw - nfs server:/x rw\n"
    assert not facts().mounted
