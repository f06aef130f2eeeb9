"""The cold leg's mount leaves nothing behind, whatever happens; BlobFuse2 and the kernel's mount table are played."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from feedline.contract import Mount
from feedline.errors import OperationError
from feedline.tools.mountinfo import Mounted
from node import cold, disks, door

MOUNT = Mount("data", "/mnt/data", "a", "data", "train", "train", True, "preload", "/mnt/resource/blobfuse2cache/data")
BLOBFUSE2 = """#!/bin/sh
PATH=/usr/bin:/bin
case $1 in
mount) echo starting; [ -e {state}/refuses ] && exit 1
       [ -e {state}/slow ] && exec sleep 60
       echo "$2" > {state}/mounted; touch {cache}/feedline-cold-*/cached
       while [ -e {state}/mounted ]; do [ -e {state}/dies ] && exit 9; sleep 0.02; done;;
unmount) [ -e {state}/dies ] || [ -e {state}/busy ] && exit 1; rm {state}/mounted;;
esac
"""
FUSERMOUNT3 = "#!/bin/sh\nPATH=/usr/bin:/bin\n[ -e {state}/stuck ] && exit 1\nrm {state}/mounted\n"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder: `mounted` holds what the kernel says is mounted; a test makes the other files to make trouble."""
    here, resource, run, programs = (tmp_path / name for name in ("state", "resource", "run", "bin"))
    for folder in (here, resource, run, programs):
        folder.mkdir()
    for name, text in (("blobfuse2", BLOBFUSE2), ("fusermount3", FUSERMOUNT3)):
        (programs / name).write_text(text.format(state=here, cache=resource))
        (programs / name).chmod(0o755)

    def mounts() -> list[Mounted]:
        points = [] if (here / "no nvme").exists() else [str(resource)]
        points += (here / "mounted").read_text().split() if (here / "mounted").exists() else []
        return [Mounted(1, "0:52", point, ("rw",), "fuse", "x") for point in points]

    monkeypatch.setattr(disks, "mounts", mounts)
    monkeypatch.setattr(door, "ENVIRONMENT", {"PATH": str(programs)})
    monkeypatch.setattr(door, "_own", lambda path, owner: None)
    monkeypatch.setattr(door, "KILL_WAIT_S", 0.5)
    monkeypatch.setattr(cold, "RESOURCE_DISK", str(resource))
    monkeypatch.setattr(cold, "RUN", str(run))
    monkeypatch.setattr(cold, "WAIT_S", 0.5)
    monkeypatch.setattr(cold, "STOP_S", 0.5)
    monkeypatch.setattr(cold, "render", lambda mount, *_, **facts: f"{mount.mode} {mount.read_only} {facts}\n")
    return here


def made() -> cold.ColdMount:
    contract: Any = SimpleNamespace(account=lambda name: None, identity=lambda name: None)
    node: Any = None
    return cold.ColdMount(contract, node, MOUNT, 1000)


def left(state: Path) -> list[str]:
    """What is still there: folders, and a mount."""
    found = [*(state.parent / "resource").iterdir(), *(state.parent / "run").iterdir(), *state.glob("mounted")]
    return [path.name for path in found]


def test_it_mounts_read_only_through_a_file_cache_of_its_own_and_takes_it_away(state: Path) -> None:
    with made() as mount:
        assert (state / "mounted").read_text().split() == [mount.path]
        assert Path(mount.cache).parent == state.parent / "resource" and Path(mount.cache).is_dir()
        text = Path(mount.path).with_name("config.yaml").read_text()
        assert text.startswith("file_cache True") and "'disk_bytes': 2000" in text
    assert left(state) == []


def test_a_leg_that_fails_leaves_nothing_and_its_own_error_is_told(state: Path) -> None:
    with pytest.raises(ZeroDivisionError), made():
        _ = 1 / 0
    assert left(state) == []


@pytest.mark.parametrize("trouble", ["dies", "busy"])
def test_a_dead_daemon_and_a_busy_mount_are_detached(state: Path, trouble: str) -> None:
    with made():
        (state / trouble).touch()
    assert left(state) == []


def test_a_mount_that_is_refused_tells_what_blobfuse2_said(state: Path) -> None:
    (state / "refuses").touch()
    with pytest.raises(OperationError, match="starting"), made():
        pass
    assert left(state) == []


def test_a_mount_that_does_not_come_up_is_ended_and_not_waited_for(state: Path) -> None:
    (state / "slow").touch()
    mount = made()
    with pytest.raises(OperationError, match="did not come up"), mount:
        pass
    assert mount._process is not None and mount._process.returncode == -15 and left(state) == []


def test_without_blobfuse2_nothing_is_left_either(state: Path) -> None:
    (state.parent / "bin" / "blobfuse2").unlink()
    with pytest.raises(FileNotFoundError), made():
        pass
    assert left(state) == []


def test_without_the_local_nvme_nothing_is_cached_on_the_os_disk(state: Path) -> None:
    (state / "no nvme").touch()
    with pytest.raises(OperationError, match="nothing is mounted at"), made():
        pass
    assert left(state) == []


def test_a_mount_that_cannot_be_taken_away_is_named_and_its_content_is_left_alone(state: Path) -> None:
    with pytest.raises(OperationError, match="left behind: .*/mnt"), made() as mount:
        Path(mount.path, "seen through it").touch()
        (state / "busy").touch()
        (state / "stuck").touch()
    assert Path(mount.path, "seen through it").exists()
