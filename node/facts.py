"""Verb `facts`, and the facts other verbs share: asked through the door, typed, with a reason for what is not known."""

from __future__ import annotations

import http.client
import importlib.metadata
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

from feedline.contract import Account, Contract, Mount
from feedline.facts import Endpoint, NodeFacts
from feedline.names import MANIFEST_BLOB, STAGE_MARKER
from feedline.tools import azcopy, blobfuse2, cloud_init, nvidia_smi
from feedline.verdicts import doctor
from node import disks, door
from node.mounts import boot_id, mount_facts

__all__ = ["boot_id", "collect", "endpoint", "mount_facts", "run"]

IMDS = "http://169.254.169.254/metadata"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy: neither the metadata service nor a private endpoint is behind one. Certificates are verified."""

ASK_S = 60.0
SHOWN, RAW = 200, 4000
"""How many characters of a program's words stand in a verdict, and how many are kept as evidence."""


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


def collect(contract: Contract, name: str, client_id: str) -> NodeFacts:
    """Given the contract and this node's identity, return everything doctor judges."""
    ask = Asked()
    blobfuse, standin = blobfuse2.version(ask("blobfuse2", "--version").out)
    gpus = ask(*nvidia_smi.LIST)
    first_boot = cloud_init.status(ask(*cloud_init.STATUS).out)
    fuse = ask("fusermount3", "--version")
    instance = _imds("/instance/compute?api-version=2021-02-01&format=json", ask.unknown, "vm_id") or {}
    token = _imds(_token_query(client_id), ask.unknown, "token")
    stage = (door.read(STAGE_MARKER) or "").split()
    local = disks.candidates()
    if not gpus.ok:
        ask.unknown["gpus"] = (gpus.err or gpus.out).strip()[:SHOWN]
    if first_boot is None:
        ask.unknown["cloud_init"] = ask.raw["cloud-init status --long"].strip()[:SHOWN] or "cloud-init did not say"
    if not local and not Path(disks.SYS, "block").is_dir():
        ask.unknown["nvme_disks"] = f"{disks.SYS}/block cannot be read"
    return NodeFacts(
        name=name,
        boot_id=boot_id(),
        kernel=platform.release(),
        python=platform.python_version(),
        cloud_init=first_boot,
        stage=stage[-1] if stage else None,
        azcopy=azcopy.version(ask("azcopy", "--version").out) or None,
        blobfuse2=blobfuse or None,
        blobfuse2_is_standin=standin,
        vm_id=instance.get("vmId"),
        vm_size=instance.get("vmSize"),
        token=bool(token and token.get("access_token")),
        endpoints=tuple(endpoint(url) for account in contract.accounts for url in _urls(account)),
        gpus=nvidia_smi.count(gpus.out) if gpus.ok else None,
        nvme_disks=None if "nvme_disks" in ask.unknown else len(local),
        nics=_nics(),
        cores=os.cpu_count() or 0,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        fuse=os.path.exists("/dev/fuse") and fuse.ok,
        nftables=ask("nft", "--version").ok,
        unknown=ask.unknown,
        fuse_version=blobfuse2.fuse_version(fuse.out),
        cloud_init_version=_cloud_init_version(),
        root=os.geteuid() == 0,
        raw=ask.raw,
    )


class Asked:
    """Runs programs and keeps what they said beside what was read from it; `unknown` = what stayed unknown, and why."""

    def __init__(self) -> None:
        self.raw: dict[str, str] = {}
        self.unknown: dict[str, str] = {}

    def __call__(self, *argv: str) -> door.Done:
        done = door.run(argv, timeout_s=ASK_S)
        self.raw[" ".join(argv)] = "\n".join(part.strip() for part in (done.out, done.err) if part.strip())[:RAW]
        return done


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
        with DIRECT.open(urllib.request.Request(url, method="HEAD"), timeout=10) as answer:
            date = answer.headers.get("Date")
    except urllib.error.HTTPError as refused:
        date = refused.headers.get("Date")
    except (OSError, ssl.SSLError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        return Endpoint(url, found, False, None, f"no TLS connection: {reason}")
    offset = time.time() - parsedate_to_datetime(date).timestamp() if date else None
    return Endpoint(url, found, True, round(offset, 1) if offset is not None else None, "")


def _urls(account: Account) -> list[str]:
    """Both for dfs: BlobFuse2 needs the blob endpoint of an HNS account, too."""
    return [account.blob_endpoint, *([account.dfs_endpoint] if account.protocol == "dfs" else [])]


def _token_query(client_id: str) -> str:
    resource = urllib.parse.quote("https://storage.azure.com/", safe="")
    return f"/identity/oauth2/token?api-version=2018-02-01&resource={resource}&client_id={client_id}"


def _imds(path: str, unknown: dict[str, str], name: str) -> dict[str, Any] | None:
    """Ask the instance metadata service. What it says of tokens is never printed."""
    try:
        with DIRECT.open(urllib.request.Request(IMDS + path, headers={"Metadata": "true"}), timeout=10) as answer:
            value = json.load(answer)
    except urllib.error.HTTPError as refused:
        unknown[name] = (
            f"the metadata service answered {refused.code}: {refused.read()[:200].decode('utf-8', 'replace')}"
        )
        return None
    except (OSError, ValueError, http.client.HTTPException) as error:
        unknown[name] = f"the metadata service did not answer: {error}"
        return None
    return value if isinstance(value, dict) else None


def _cloud_init_version() -> str | None:
    """From its package, in a millisecond; `cloud-init --version` takes half a second each time."""
    try:
        return importlib.metadata.version("cloud-init")
    except importlib.metadata.PackageNotFoundError:
        return None


def _nics() -> int | None:
    """Front-end interfaces only: no InfiniBand, no virtual function (enP…), whose bytes its eth device counts."""
    try:
        return len([name for name in os.listdir("/sys/class/net") if name.startswith("eth")])
    except OSError:
        return None
