"""The command that boots a node: each of these words cost somebody a day."""

from pathlib import Path

from sandbox.nodes.nspawn import Boot, boot_argv, exec_argv

BOOT = Boot(
    node="gpu-0",
    machine="feedline-0123abcd-gpu-0",
    hostname="gpu-0",
    disk="/dev/loop3",
    root=Path("/srv/a:b/root"),
    devices=["/dev/loop3", "/dev/loop4"],
    read_only_binds=[(Path("/srv/a:b/names.conf"), "/etc/tmpfiles.d/names.conf")],
    cgroups=[Path("/sys/fs/cgroup/blkio/box/gpu-0")],
)


def test_the_network_is_entered_before_nspawn_starts() -> None:
    argv = boot_argv(BOOT)
    assert argv[:3] == ["nsenter", "--net=/run/netns/gpu-0", "--"]
    assert not any(word.startswith("--network") for word in argv)


def test_the_disk_is_mounted_where_no_other_node_inherits_it() -> None:
    argv = boot_argv(BOOT)
    private, disk, nspawn = argv.index("unshare"), argv.index("--disk"), argv.index("systemd-nspawn")
    assert private < disk < nspawn
    assert argv[disk + 1 : disk + 3] == ["/dev/loop3", "/srv/a:b/root"]


def test_the_node_gets_few_capabilities_and_only_its_own_devices() -> None:
    argv = boot_argv(BOOT)
    assert "--capability=CAP_NET_ADMIN" in argv
    assert "--capability=all" not in argv
    assert [word for word in argv if word.startswith("--bind=")] == [
        "--bind=/dev/fuse", "--bind=/dev/loop3", "--bind=/dev/loop4",
    ]  # fmt: skip


def test_a_colon_in_the_checkouts_path_does_not_split_a_bind() -> None:
    assert "--bind-ro=/srv/a\\:b/names.conf:/etc/tmpfiles.d/names.conf" in boot_argv(BOOT)


def test_a_command_in_a_node_joins_its_cgroups_and_all_its_namespaces() -> None:
    argv = exec_argv(77, BOOT.cgroups, ["true"])
    assert "/sys/fs/cgroup/blkio/box/gpu-0" in argv
    assert argv[argv.index("nsenter") + 1] == "--target=77"
    assert argv[-2:] == ["--", "true"]
