"""Which cgroup hierarchies a node gets a directory in."""

from pathlib import Path

from sandbox.nodes.cgroup import Cgroups, hierarchies

HYBRID = """\
30 25 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/blkio rw,relatime shared:5 - cgroup cgroup rw,blkio
32 30 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup rw
34 25 254:0 / / rw,relatime - ext4 /dev/vda rw
"""
UNIFIED = "31 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_a_v1_machine_has_one_directory_per_hierarchy() -> None:
    assert [path.name for path in hierarchies(HYBRID)] == ["blkio", "systemd", "unified"]


def test_a_v2_machine_has_one() -> None:
    assert hierarchies(UNIFIED) == [Path("/sys/fs/cgroup")]


def test_a_new_cpuset_gets_its_parents_cpus_because_an_empty_one_takes_no_process(tmp_path: Path) -> None:
    for name, value in (("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")):
        (tmp_path / name).write_text(value)
    # A real cpuset directory is born with its files; this stands in for the kernel.
    (tmp_path / "box" / "node").mkdir(parents=True)
    for folder in (tmp_path / "box", tmp_path / "box" / "node"):
        for name in ("cpuset.cpus", "cpuset.mems"):
            (folder / name).write_text("\n")
    Cgroups("box", [tmp_path]).create("node")
    assert (tmp_path / "box" / "node" / "cpuset.cpus").read_text() == "0-1\n"


def test_reads_are_throttled_by_whichever_controller_is_there(tmp_path: Path) -> None:
    v1, v2, none = tmp_path / "v1", tmp_path / "v2", tmp_path / "none"
    for mount in (v1, v2, none):
        (mount / "box" / "node").mkdir(parents=True)
    (v1 / "box/node/blkio.throttle.read_bps_device").touch()
    (v2 / "box/node/io.max").touch()
    assert Cgroups("box", [none, v1]).throttle_reads("node", "7:3", 40_000_000)
    assert (v1 / "box/node/blkio.throttle.read_bps_device").read_text() == "7:3 40000000"
    assert Cgroups("box", [v2]).throttle_reads("node", "7:3", 40_000_000)
    assert (v2 / "box/node/io.max").read_text() == "7:3 rbps=40000000"


def test_a_machine_that_cannot_throttle_says_so(tmp_path: Path) -> None:
    assert not Cgroups("box", [tmp_path]).throttle_reads("node", "7:3", 1)


def test_removing_says_whether_everything_is_gone(tmp_path: Path) -> None:
    (tmp_path / "box" / "node" / "payload" / "init.scope").mkdir(parents=True)
    groups = Cgroups("box", [tmp_path])
    assert groups.remove("node")
    assert groups.remove()
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "busy").touch()
    assert not groups.remove()
