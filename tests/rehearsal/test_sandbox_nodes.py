"""What a node of the sandbox is: a VM that a program cannot tell from Azure's by the things it measures."""

import ast
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import lifecycle
from tests.rehearsal.small_sandbox import GPU_SIZE, JUMP_SIZE, SmallSandbox, make, until, vm_id

pytestmark = pytest.mark.timeout(240)
NVME = "/dev/disk/azure/local/by-index/0"
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallSandbox]:
    """One sandbox with a GPU node and a jump node for the whole module."""
    box = make(tmp_path_factory.mktemp("nodes"))
    box.sandbox("up", "--fresh")
    try:
        box.network()
        box.vm("gpu-0", GPU_SIZE, "nodes", "10.42.1.4")
        box.vm("ingest-0", JUMP_SIZE, "jump", "10.42.2.4")
        yield box
    finally:
        box.sandbox("down")


def test_a_vm_boots_its_own_custom_data_with_its_name_user_and_keys(box: SmallSandbox) -> None:
    box.ssh("gpu-0", "cloud-init status --wait >/dev/null")
    assert box.ssh("gpu-0", "hostname; id -un; sudo id -un").split() == ["gpu-0", "azureuser", "root"]
    assert box.ssh("gpu-0", "cat /etc/marker") == "from customData"
    until(lambda: box.ssh("gpu-0", "systemctl is-system-running", check=False).strip() == "running", 30, "systemd")


def test_two_nodes_share_neither_host_key_nor_machine_id(box: SmallSandbox) -> None:
    facts = [
        box.ssh(node, "cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub").split() for node in ("gpu-0", "ingest-0")
    ]
    assert facts[0][0] != facts[1][0]
    assert facts[0][2] != facts[1][2]


def test_the_disks_are_loops_of_the_nodes_own_past_the_page_cache(box: SmallSandbox) -> None:
    node = box.node("gpu-0")
    assert node["direct_io"] is True
    assert box.ssh("gpu-0", "findmnt -no SOURCE,FSTYPE /").split() == [node["loops"][0], "ext4"]
    assert box.ssh("gpu-0", f"readlink -f {NVME}; sudo blockdev --getsize64 {NVME}").split() == [
        node["loops"][1],
        str(2 * 1024**3),
    ]
    others = set(box.node("ingest-0")["loops"])
    assert not others & set(box.ssh("gpu-0", "ls /dev/loop*").split())


def test_an_instance_of_a_scale_set_boots_as_a_vm_does_and_goes_when_the_capacity_does(box: SmallSandbox) -> None:
    box.scale_set("many", 1)
    box.ssh("many000000", "cloud-init status --wait >/dev/null")
    assert box.ssh("many000000", "hostname; cat /etc/marker").split("\n")[:2] == ["many000000", "from customData"]
    where = "http://169.254.169.254/metadata/instance/compute?api-version=2021-02-01"
    request = f"u.Request('{where}', headers={{'Metadata': 'true'}})"
    ask = f"import urllib.request as u; print(u.urlopen({request}).read())"
    compute = json.loads(ast.literal_eval(box.ssh("many000000", f'python3 -c "{ask}"')))
    assert (compute["vmScaleSetName"], compute["name"], compute["vmSize"]) == ("many", "many_0", GPU_SIZE)
    assert box.node("many000000")["nvme_bytes"]
    box.scale_set("many", 0)
    assert "many000000" not in [node["name"] for node in box.status()["nodes"]]


def test_only_gpu_sizes_have_an_nvme(box: SmallSandbox) -> None:
    assert box.ssh("ingest-0", f"ls {NVME} 2>/dev/null", check=False) == ""


def test_the_os_disk_is_slow_and_the_nvme_is_not(box: SmallSandbox) -> None:
    read = "sudo dd if={} of=/dev/null bs=1M count=60 iflag=direct 2>&1 | tail -1"
    box.ssh("gpu-0", "sudo dd if=/dev/urandom of=/var/tmp/slow bs=1M count=60 conv=fsync 2>/dev/null")
    started = time.monotonic()
    box.ssh("gpu-0", read.format("/var/tmp/slow"))
    slow = time.monotonic() - started
    started = time.monotonic()
    box.ssh("gpu-0", read.format(NVME))
    fast = time.monotonic() - started
    assert slow > 60 * 1.048576 / 40 * 0.9
    assert fast < slow / 2


def test_the_nic_receives_no_faster_than_its_rate(box: SmallSandbox) -> None:
    size = 60_000_000
    sender = f"import socket;s=socket.create_server(('',9000));c=s.accept()[0];c.sendall(bytes({size}));c.close()"
    receiver = (
        "import socket,time;c=socket.create_connection(('10.42.2.4',9000));t=time.monotonic();n=0\n"
        "while d:=c.recv(1<<20): n+=len(d)\n"
        "print(n, time.monotonic()-t)"
    )
    box.ssh("ingest-0", f'setsid python3 -c "{sender}" >/dev/null 2>&1 </dev/null & sleep 0.5')
    received, seconds = box.ssh("gpu-0", f'python3 -c "{receiver}"').split()
    assert int(received) == size
    assert 40e6 < size / float(seconds) < 55e6


def test_stopping_a_unit_in_one_node_ends_its_processes_and_spares_the_other_node(box: SmallSandbox) -> None:
    for node in ("gpu-0", "ingest-0"):
        box.ssh(node, "sudo systemd-run --quiet --unit=burner sh -c 'sleep 1000 & sleep 1000'")
    box.ssh("gpu-0", "sudo systemctl stop burner")
    assert box.ssh("gpu-0", "pgrep -c -x sleep", check=False).strip() == "0"
    assert box.ssh("ingest-0", "pgrep -c -x sleep").strip() == "2"


def test_a_node_fits_into_150_mib(box: SmallSandbox) -> None:
    for folder in box.node("gpu-0")["cgroups"]:
        stat = Path(folder, "memory.stat")
        if stat.exists():
            values = dict(line.split() for line in stat.read_text().splitlines())
            assert int(values.get("total_rss", values.get("anon", 0))) < 150 * 1024**2
            return
    pytest.fail("no hierarchy of this machine counts memory: the node's size is NOT MEASURED")


def test_there_is_no_route_out(box: SmallSandbox) -> None:
    def connect(address: str, port: int) -> str:
        program = f"import socket; socket.create_connection(('{address}',{port}),3); print('connected')"
        return box.ssh("gpu-0", f'python3 -c "{program}" 2>&1 | tail -1', check=False).strip()

    assert connect("10.42.2.4", 22) == "connected"  # or nothing below would mean anything
    with socket.create_server(("", 0)) as listener:  # something that would answer, were there a way
        port = listener.getsockname()[1]
        own = subprocess.run(["ip", "-json", "-4", "addr"], capture_output=True, text=True, check=True).stdout
        addresses = [a["local"] for link in json.loads(own) for a in link["addr_info"] if link["ifname"] != "lo"]
        for address in [*addresses, "1.1.1.1", "8.8.8.8"]:
            assert "unreachable" in connect(address, port if address in addresses else 443), address


def test_the_fabric_has_no_interface_to_the_machine(box: SmallSandbox) -> None:
    init = lifecycle.process(box.layout)
    assert init is not None
    shown = subprocess.run(
        ["nsenter", f"--target={init.pid}", "--net", "ip", "-json", "-d", "link"], capture_output=True, check=True
    )
    links = {link["ifname"]: link for link in json.loads(shown.stdout)}
    assert links.keys() == {"lo", "fabric0", "v0a2a0104", "v0a2a0204"}
    machine = Path("/proc/self/ns/net").stat().st_ino
    assert Path(f"/proc/{init.pid}/ns/net").stat().st_ino != machine
    for name in ("v0a2a0104", "v0a2a0204"):
        assert links[name]["master"] == "fabric0"
        assert links[name]["link_netnsid"] is not None  # its other end is in a node, and none of those is the machine's


def test_a_reboot_keeps_both_disks_and_changes_the_boot_id(box: SmallSandbox) -> None:
    box.ssh("gpu-0", f"sudo mkfs.ext4 -q -F -L keep {NVME}; echo kept | sudo tee /var/kept; sync")
    before = box.ssh("gpu-0", BOOT_ID)
    box.ssh("gpu-0", "sudo systemctl reboot", check=False)
    until(lambda: box.ssh("gpu-0", BOOT_ID, check=False) not in ("", before), 30, "a new boot id")
    assert box.ssh("gpu-0", f"cat /var/kept; sudo blkid -po value -s LABEL {NVME}").split() == ["kept", "keep"]


def test_a_deallocation_takes_the_nvme_and_leaves_the_os_disk(box: SmallSandbox) -> None:
    box.ssh("gpu-0", f"sudo mkfs.ext4 -q -F -L gone {NVME}; echo kept | sudo tee /var/kept; sync")
    box.arm("POST", f"{vm_id('gpu-0')}/deallocate")
    until(lambda: box.node("gpu-0")["power"] == "deallocated", 30, "deallocated")
    box.arm("POST", f"{vm_id('gpu-0')}/start")
    until(lambda: box.ssh("gpu-0", "true; echo up", check=False) == "up\n", 30, "ssh")
    assert box.ssh("gpu-0", f"cat /var/kept; sudo blkid -po value -s LABEL {NVME}", check=False).split() == ["kept"]


def test_a_power_off_from_inside_stops_the_node_until_it_is_started(box: SmallSandbox) -> None:
    box.ssh("ingest-0", "sudo systemctl poweroff", check=False)
    until(lambda: box.node("ingest-0")["power"] == "stopped", 30, "stopped")
    assert box.node("ingest-0")["loops"] == []
    box.arm("POST", f"{vm_id('ingest-0')}/start")
    until(lambda: box.node("ingest-0")["power"] == "running", 30, "running")


def test_a_deleted_vm_leaves_no_disk(box: SmallSandbox) -> None:
    box.vm("gpu-1", GPU_SIZE, "nodes", "10.42.1.5")
    assert box.layout.node("gpu-1").exists()
    box.arm("DELETE", vm_id("gpu-1"))
    until(lambda: not box.layout.node("gpu-1").exists(), 30, "disks gone")
    assert "gpu-1" not in [node["name"] for node in box.status()["nodes"]]
