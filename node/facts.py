"""Verb `facts`, and the facts other verbs share: asked through the door, typed, with a reason for what is not known."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from feedline.contract import Contract, Mount
from feedline.facts import Endpoint, MountFacts, NodeFacts
from feedline.names import MANIFEST_BLOB, STAGE_MARKER, mount_config, mount_unit
from feedline.tools import azcopy, blobfuse2
from feedline.verdicts import doctor
from node import door

IMDS = "http://169.254.169.254/metadata"
LIVE_S = 5.0


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Given a request of the node protocol, return the node's facts with doctor's verdicts. Changes nothing."""
    contract = Contract.parse(request["contract"])
    node = contract.node(request["node"])
    progress("collecting facts")
    facts = collect(contract, node.name, contract.identity(node.identity).client_id)
    mounts = {mount.name: _mount(contract, mount) for mount in contract.mounts_of(node)}
    verdicts = [verdict.as_dict() for verdict in doctor.judge(contract, node, facts)]
    return {
        "facts": {**facts.as_dict(), "mounts": mounts},
        "plan": None,
        "applied": [],
        "changed": False,
        "verdicts": verdicts,
        "measurements": {},
    }


def _mount(contract: Contract, mount: Mount) -> dict[str, Any]:
    """How a mount is now, and which data set is seen through it: what the operator's side binds its verdicts to."""
    found = mount_facts(mount)
    digest = None
    if found.live and mount.read_only:
        text = door.read(f"{mount.path}/{contract.workload.dataset}/{MANIFEST_BLOB}")
        match = re.search(r'"digest": "([0-9a-f]{64})"', text or "")
        digest = match[1] if match else None
    return {**found.as_dict(), "manifest_digest": digest}


def boot_id() -> str:
    """Return this boot's id; uptime is the machine's in a container, the boot id is not."""
    return (door.read("/proc/sys/kernel/random/boot_id") or "").strip()


def collect(contract: Contract, name: str, client_id: str) -> NodeFacts:
    """Given the contract and this node's identity, return everything doctor judges."""
    unknown: dict[str, str] = {}
    blobfuse, standin = blobfuse2.version(door.run(["blobfuse2", "--version"]).out)
    instance = _imds("/instance/compute?api-version=2021-02-01&format=json", unknown, "vm_id")
    token = _imds(_token_query(client_id), unknown, "token")
    urls = [
        url
        for account in contract.accounts
        for url in ([account.blob_endpoint] + _dfs(account.protocol, account.dfs_endpoint))
    ]
    return NodeFacts(
        name=name,
        boot_id=boot_id(),
        kernel=platform.release(),
        python=platform.python_version(),
        cloud_init=_cloud_init(unknown),
        stage=(door.read(STAGE_MARKER) or "").split()[-1] if (door.read(STAGE_MARKER) or "").split() else None,
        azcopy=azcopy.version(door.run(["azcopy", "--version"]).out) or None,
        blobfuse2=blobfuse or None,
        blobfuse2_is_standin=standin,
        vm_id=instance.get("vmId") if instance else None,
        vm_size=instance.get("vmSize") if instance else None,
        token=bool(token and token.get("access_token")),
        endpoints=tuple(endpoint(url) for url in urls),
        gpus=_gpus(unknown),
        nvme_disks=len(list(Path("/dev/disk/azure/local/by-index").glob("*")))
        if Path("/dev/disk/azure/local").is_dir()
        else None,
        nics=_nics(),
        cores=os.cpu_count() or 0,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        fuse=os.path.exists("/dev/fuse") and door.run(["fusermount3", "--version"]).ok,
        nftables=door.run(["nft", "--version"]).ok,
        unknown=unknown,
    )


def mount_facts(mount: Mount) -> MountFacts:
    """Given a mount of the contract, return how it is now, as its running daemon and the kernel tell it."""
    unit = mount_unit(mount.name)
    shown = door.run(["systemctl", "show", unit, "--property=ActiveState,MainPID"]).out
    state = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    pid = int(state.get("MainPID") or 0) or None
    found = _mountinfo(mount.path)
    config = mount_config(mount.name)
    if pid:
        argv = (door.read(f"/proc/{pid}/cmdline") or "").split("\0")
        config = blobfuse2.config_file(argv) or config
    text = door.read(config) or ""
    cache = blobfuse2.cache_path(text) if found else None
    return MountFacts(
        name=mount.name,
        path=mount.path,
        mounted=found is not None,
        read_only="ro" in found[1] if found else False,
        live=_live(mount.path) if found else False,
        main_pid=pid,
        started=_started(pid),
        unit_active=state.get("ActiveState", "unknown"),
        config_path=config,
        config_sha256=hashlib.sha256(text.encode()).hexdigest() if text else "",
        cache_path=cache,
        cache_device=_device(cache) if cache else None,
        os_device=_device("/") or "",
        boot_id=boot_id(),
        unit_sha256=hashlib.sha256((door.read(f"/etc/systemd/system/{unit}") or "").encode()).hexdigest(),
    )


def endpoint(url: str) -> Endpoint:
    """Given an https URL, resolve it, do a verified TLS handshake and read the service's clock."""
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        found = tuple(
            sorted({str(item[4][0]) for item in socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM)})
        )
    except OSError as error:
        return Endpoint(url, (), False, None, f"name does not resolve: {error}")
    try:
        # Any answer will do, a refusal included: what counts are the handshake and the Date header.
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=10) as answer:
            date = answer.headers.get("Date")
    except urllib.error.HTTPError as refused:
        date = refused.headers.get("Date")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", error)
        return Endpoint(url, found, False, None, f"no TLS connection: {reason}")
    offset = time.time() - parsedate_to_datetime(date).timestamp() if date else None
    return Endpoint(url, found, True, round(offset, 1) if offset is not None else None, "")


def _dfs(protocol: str, url: str) -> list[str]:
    return [url] if protocol == "dfs" else []


def _token_query(client_id: str) -> str:
    resource = urllib.parse.quote("https://storage.azure.com/", safe="")
    return f"/identity/oauth2/token?api-version=2018-02-01&resource={resource}&client_id={client_id}"


def _imds(path: str, unknown: dict[str, str], name: str) -> dict[str, Any] | None:
    """Ask the instance metadata service, past any proxy. What it says of tokens is never printed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(IMDS + path, headers={"Metadata": "true"}), timeout=10) as answer:
            value = json.load(answer)
    except urllib.error.HTTPError as refused:
        unknown[name] = (
            f"the metadata service answered {refused.code}: {refused.read()[:200].decode('utf-8', 'replace')}"
        )
        return None
    except (OSError, ValueError) as error:
        unknown[name] = f"the metadata service did not answer: {error}"
        return None
    return value if isinstance(value, dict) else None


def _cloud_init(unknown: dict[str, str]) -> str | None:
    said = door.run(["cloud-init", "status", "--long"], timeout_s=60)
    found = re.search(r"^status: (\S+)", said.out, re.MULTILINE)
    if not found:
        unknown["cloud_init"] = said.err.strip()[:200] or "cloud-init did not say"
        return None
    return found.group(1)


def _gpus(unknown: dict[str, str]) -> int | None:
    said = door.run(["nvidia-smi", "-L"], timeout_s=60)
    if not said.ok:
        unknown["gpus"] = (said.err or said.out).strip()[:200]
        return None
    return len(re.findall(r"^GPU \d+:", said.out, re.MULTILINE))


def _nics() -> int | None:
    """Front-end interfaces only: no InfiniBand, no virtual function (enP…), whose bytes its eth device counts."""
    try:
        return len([name for name in os.listdir("/sys/class/net") if name.startswith("eth")])
    except OSError:
        return None


def _mountinfo(path: str) -> tuple[str, list[str]] | None:
    """Given a mount point, return (source, options) of the uppermost mount there, as /proc/self/mountinfo shows it."""
    found = None
    for line in (door.read("/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        words, facts = left.split(), right.split()
        if words[4] == path and facts[0].startswith("fuse"):
            found = (facts[1], words[5].split(","))
    return found


def _live(path: str) -> bool:
    """A dead daemon answers ENOTCONN, a stuck one not at all: so it is asked in a process that can be given up."""
    return door.run(["stat", "--file-system", path], timeout_s=LIVE_S).ok


def _device(path: str) -> str | None:
    try:
        number = os.stat(path).st_dev
    except OSError:
        return None
    return f"{os.major(number)}:{os.minor(number)}"


def _started(pid: int | None) -> str:
    text = door.read(f"/proc/{pid}/stat") if pid else None
    return text.rsplit(")", 1)[1].split()[19] if text else ""
