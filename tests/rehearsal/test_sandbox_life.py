"""Starting, stopping and killing a sandbox: whatever happens to it, the next `up` works and `down` leaves nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import lifecycle
from tests.rehearsal.small_sandbox import GPU_SIZE, REPOSITORY, SmallSandbox, make, until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallSandbox]:
    """One sandbox with one node, which every test leaves startable."""
    box = make(tmp_path_factory.mktemp("life"))
    box.sandbox("up", "--fresh")
    try:
        box.network()
        box.vm("gpu-0", GPU_SIZE, "nodes", "10.42.1.4")
        box.ssh("gpu-0", "echo kept | sudo tee /var/kept")
        yield box
    finally:
        box.sandbox("down")


@pytest.mark.parametrize("victim", ["unshare --mount", "-m sandbox.init", "-m sandbox.controller"])
def test_killing_what_holds_the_sandbox_ends_all_of_it_and_up_brings_it_back(box: SmallSandbox, victim: str) -> None:
    init = lifecycle.process(box.layout)
    assert init is not None
    tree = box.processes()
    parent = int(Path(f"/proc/{init.pid}/stat").read_text().rpartition(")")[2].split()[1])
    pid = parent if victim.startswith("unshare") else box.pid_of(victim)
    assert victim.split()[-1] in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    os.kill(pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{one}").exists() for one in tree), 10, "every process gone")
    assert not [line for line in box.leftovers() if "/loop" in line or "ext4" in line]
    assert box.sandbox("status", check=False).returncode == 1
    box.sandbox("up")
    assert box.ssh("gpu-0", "cat /var/kept") == "kept\n"


@pytest.mark.parametrize("victim", ["systemd-nspawn", "/usr/lib/systemd/systemd", "sshd: /usr/sbin/sshd"])
def test_killing_a_process_of_a_node_costs_a_reboot_at_most(box: SmallSandbox, victim: str) -> None:
    matches = [pid for pid, line in box.processes().items() if line.startswith(victim) and "--user" not in line]
    os.kill(min(matches), signal.SIGKILL)
    until(lambda: box.ssh("gpu-0", "cat /var/kept", check=False) == "kept\n", 30, "the node answers again")
    box.sandbox("up")
    assert box.node("gpu-0")["power"] == "running"


def test_a_node_that_keeps_dying_is_left_failed_and_up_starts_it_again(box: SmallSandbox) -> None:
    def kill_it() -> bool:
        for pid, line in box.processes().items():
            if line.startswith("systemd-nspawn"):
                os.kill(pid, signal.SIGKILL)
        return bool(box.node("gpu-0")["power"] == "failed")

    until(kill_it, 30, "failed")
    assert "failed" in box.sandbox("status").stdout
    box.sandbox("up")
    assert box.ssh("gpu-0", "cat /var/kept") == "kept\n"


def test_two_ups_at_once_make_one_sandbox(box: SmallSandbox) -> None:
    box.sandbox("down")
    argv = [sys.executable, "-m", "sandbox", f"--checkout={box.checkout}", "up"]
    both = [subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [one.communicate(timeout=120)[0].count("sandbox: running") for one in both] == [1, 1]
    assert [one.returncode for one in both] == [0, 0]
    assert sum("-m sandbox.controller" in line for line in box.processes().values()) == 1


def test_a_second_checkout_runs_beside_the_first(box: SmallSandbox, tmp_path: Path) -> None:
    other = make(tmp_path)
    try:
        other.sandbox("up")
        other.network()
        other.vm("gpu-0", GPU_SIZE, "nodes", "10.42.1.4")
        assert other.ssh("gpu-0", "ls /var/kept", check=False) == ""
        assert box.ssh("gpu-0", "cat /var/kept") == "kept\n"
    finally:
        other.sandbox("down")
    assert other.leftovers() == []
    assert box.node("gpu-0")["power"] == "running"


def test_a_fresh_up_forgets_the_cloud_and_the_disks(box: SmallSandbox) -> None:
    box.sandbox("up", "--fresh")
    assert box.status()["nodes"] == []
    assert box.status()["resources"] == 0
    assert not list(box.layout.nodes.glob("*"))


def test_down_leaves_nothing_and_twice_is_fine(box: SmallSandbox) -> None:
    assert "stopped" in box.sandbox("down").stdout
    assert box.leftovers() == []
    assert "was not running" in box.sandbox("down").stdout


def test_commands_without_a_sandbox_say_how_to_start_it(box: SmallSandbox) -> None:
    box.sandbox("down")
    for words in (["status"], ["fault", "rbac-delay", "1"], ["exec", "gpu-0", "--", "true"]):
        done = box.sandbox(*words, check=False)
        assert done.returncode == 1
        assert "sandbox up" in done.stderr
        assert "Traceback" not in done.stderr
