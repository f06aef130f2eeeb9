"""Runs inside namespaces of its own: a bridge, two nodes' networks, the gateway over a small cloud, real clients.

Prints one JSON object: what each client saw. test_data_plane.py starts it with unshare; it leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sandbox.gateway import Gateway, wanted_addresses
from sandbox.identity.tokens import Tokens
from sandbox.layout import Layout
from tests.doors.sandbox.small_cloud import ACCOUNT, CONTRIBUTOR, CONTRIBUTOR_DATA, NET, small_cloud

NODES = {"gpu0": "10.0.1.4", "ingest0": "10.0.2.4"}
TRAIN, INGEST = "cccccccc-0000-0000-0000-000000000001", "cccccccc-0000-0000-0000-000000000002"
CLIENT = Path(__file__).with_name("client.py")
HOST = "https://lake01.blob.core.windows.net"


def network(folder: Path, addresses: set[str]) -> None:
    """Make the bridge with the fabric's addresses, and one network namespace per node."""
    commands = [
        "mount -t tmpfs tmpfs /run/netns",
        "ip link set lo up",
        "ip link add fabric0 type bridge",
        "ip link set fabric0 up",
        *(f"ip addr add {address}/32 dev fabric0" for address in addresses),
    ]
    for name, address in NODES.items():
        gateway = address.rsplit(".", 1)[0] + ".1"
        commands += [
            f"ip addr add {gateway}/24 dev fabric0",
            f"ip netns add {name}",
            f"ip link add v-{name} type veth peer name eth0 netns {name}",
            f"ip link set v-{name} master fabric0 up",
            f"ip -n {name} link set lo up",
            f"ip -n {name} addr add {address}/24 dev eth0",
            f"ip -n {name} link set eth0 up",
            f"ip -n {name} route add default via {gateway}",
        ]
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 168.63.129.16\noptions timeout:2\n")
    Path("/run/netns").mkdir(exist_ok=True)
    for command in commands:
        subprocess.run(command.split(), check=True)
    subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], check=True)


async def on(node: str, argv: list[str], env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a program in a node's network; return (exit status, its output)."""

    def run() -> tuple[int, str]:
        read, write = os.pipe()  # AzCopy wants an input that stays open
        try:
            done = subprocess.run(
                ["ip", "netns", "exec", node, *argv],
                stdin=read,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, **(env or {})},
                timeout=100,
            )
        finally:
            os.close(read)
            os.close(write)
        return done.returncode, done.stdout

    return await asyncio.to_thread(run)


async def client(node: str, identity: str) -> dict[str, Any]:
    """Return what azure-storage-blob saw on a node, as an identity."""
    code, output = await on(node, [sys.executable, str(CLIENT), identity])
    assert code == 0, output
    return json.loads(output.splitlines()[-1])


async def azcopy(program: str, node: str, identity: str, *arguments: str) -> tuple[int, str]:
    """Return (exit status, final job status) of AzCopy on a node, as an identity."""
    env = {"AZCOPY_AUTO_LOGIN_TYPE": "MSI", "AZCOPY_MSI_CLIENT_ID": identity, "AZCOPY_DISABLE_SYSLOG": "true"}
    code, output = await on(node, [program, *arguments], env)
    status = [line.split(":", 1)[1].strip() for line in output.splitlines() if line.startswith("Final Job Status:")]
    return code, status[0] if status else output[-500:]


async def play(folder: Path, azurite: str, azcopy_program: str) -> dict[str, Any]:
    """Play every scene; return what was seen."""
    layout = Layout(folder / "a sandbox", folder / "run", folder / "cache")
    layout.packages.mkdir(parents=True)
    (layout.packages / "Packages").write_text("Package: azcopy\n")
    cloud, tokens = small_cloud(), Tokens.open(layout.keys / "token.pem")
    network(folder, wanted_addresses(cloud))
    os.environ |= {"SSL_CERT_FILE": str(layout.ca_pem), "REQUESTS_CA_BUNDLE": str(layout.ca_pem)}
    os.environ |= {"AZCOPY_LOG_LOCATION": str(folder / "log"), "AZCOPY_JOB_PLAN_LOCATION": str(folder / "plan")}
    data = folder / "data"
    data.mkdir()
    for number in range(20):
        (data / f"{number}.bin").write_bytes(os.urandom(1 << (10 + number % 14)))
    gateway = Gateway(layout, cloud, tokens, ["node", azurite] if azurite.endswith(".js") else [azurite])
    seen: dict[str, Any] = {}
    await gateway.start()
    try:
        seen["train"], seen["ingest"] = await client("gpu0", TRAIN), await client("ingest0", INGEST)
        upload = ("copy", str(data), f"{HOST}/training-data/set", "--recursive", "--put-md5")
        seen["azcopy up"] = await azcopy(azcopy_program, "ingest0", INGEST, *upload)
        seen["azcopy refused"] = await azcopy(azcopy_program, "gpu0", TRAIN, *upload)
        download = ("copy", f"{HOST}/training-data/set/*", str(folder / "back"), "--recursive")
        check = ("--check-md5", "FailIfDifferentOrMissing")
        seen["azcopy down"] = await azcopy(azcopy_program, "gpu0", TRAIN, *download, *check)
        back = {file.name: file.read_bytes() for file in (folder / "back").rglob("*.bin")}
        seen["same bytes"] = back == {file.name: file.read_bytes() for file in data.iterdir()}
        seen["foreign identity"] = (await azcopy(azcopy_program, "gpu0", INGEST, "list", f"{HOST}/training-data"))[0]
        await changes(gateway, cloud, seen)
    finally:
        await gateway.stop()
    seen["leaks"] = [f.name for f in layout.logs.iterdir() if "sig=" in f.read_text().replace("sig=REDACTED", "")]
    seen["left"] = [a for a in _command_lines() if any(word in a for word in ("nginx:", "dnsmasq", "--blobPort"))]
    return seen


async def changes(gateway: Gateway, cloud: Any, seen: dict[str, Any]) -> None:
    """Change the cloud and kill programs under running clients."""
    cloud.grant("aaaaaaaa-0000-0000-0000-000000000001", ACCOUNT, CONTRIBUTOR, CONTRIBUTOR_DATA)
    seen["train with a role"] = await client("gpu0", TRAIN)
    for word in ("--blobPort", "nginx: master", "dnsmasq"):
        os.kill(next(pid for pid, line in _command_lines().items() if word in line), 9)
    await asyncio.sleep(0.6)  # their restart pause is 0.2 s; a client's own retries would hide a restart that failed
    seen["after kill -9"] = await client("ingest0", INGEST)
    cloud.delete(f"{ACCOUNT}/blobServices/default/containers/raw")
    await gateway.apply()
    seen["container deleted"] = (await client("ingest0", INGEST))["raw"]
    cloud.delete(f"{NET}/privateDnsZones/privatelink.blob.core.windows.net/virtualNetworkLinks/vnet")
    await gateway.apply()
    seen["zone not linked"] = await client("ingest0", INGEST)


def _command_lines() -> dict[int, str]:
    """Return the command lines of this PID namespace, but the scene's own."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return {pid: line for pid, line in found.items() if line and pid != os.getpid()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))))
