"""Is this node what the contract says, and can it do its work? Judged from facts alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from feedline.catalog.nd_series import SIZES
from feedline.contract import Contract, Node
from feedline.facts import Endpoint, NodeFacts
from feedline.units import GIB
from feedline.verdict import Status, Verdict

AZCOPY_MIN, BLOBFUSE2_MIN = (10, 32, 2), (2, 5, 4)
"""Older ones have faults that matter here: docs/reference/azcopy.md, docs/reference/blobfuse2.md."""

CLOCK_WARN_S, CLOCK_FAIL_S = 30.0, 240.0
"""Azure refuses requests and tokens whose time is off by 5 to 15 minutes, depending on the service."""

PRIVATE = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""RFC 1918 and RFC 6598: what Azure documents for VNets."""

MEMORY_MIN = 0.9
"""Share of the documented memory that must be visible; firmware and kernel take some."""


def judge(contract: Contract, node: Node, facts: NodeFacts) -> list[Verdict]:
    """Given the contract, the node and its facts, return every verdict, the first questions first."""
    return [
        *_first_boot(node, facts),
        *_machine(node, facts),
        *_tools(node, facts),
        *_reach(node, facts),
        *_hardware(contract, node, facts),
    ]


def _verdict(node: Node, check: str, status: Status, reason: str, message: str, hint: str = "") -> Verdict:
    return Verdict("doctor", check, node.name, status, reason, message, hint)


def _yes_no(node: Node, check: str, good: bool, reason: str, yes: str, no: str, hint: str) -> Verdict:
    return _verdict(
        node,
        check,
        Status.PASS if good else Status.FAIL,
        "OK" if good else reason,
        yes if good else no,
        "" if good else hint,
    )


def _first_boot(node: Node, facts: NodeFacts) -> Iterator[Verdict]:
    log = "read /var/log/cloud-init-output.log on the node"
    if facts.cloud_init is None:
        yield _verdict(
            node, "cloud-init", Status.NOT_MEASURED, "UNKNOWN", facts.unknown.get("cloud_init", "did not say"), log
        )
    elif facts.cloud_init == "degraded done":
        # From 23.4 on: it ended, and parts of it failed. Our own stages are judged by their marker.
        yield _verdict(node, "cloud-init", Status.WARN, "FIRST_BOOT_DEGRADED", "done, but parts of it failed", log)
    else:
        good = facts.cloud_init == "done"
        wait = "it is still at work: run `fab doctor` again" if facts.cloud_init == "running" else log
        yield _yes_no(node, "cloud-init", good, "FIRST_BOOT_INCOMPLETE", "done", f"status {facts.cloud_init}", wait)
    good = facts.stage == "complete"
    yield _yes_no(
        node,
        "first boot",
        good,
        "FIRST_BOOT_INCOMPLETE",
        "complete",
        f"stopped after stage {facts.stage or 'none'}",
        f"{log}; the stage after this one failed",
    )


def _machine(node: Node, facts: NodeFacts) -> Iterator[Verdict]:
    hint = "the contract and the machine do not belong together: run `pulumi up`, then export the contract again"
    if facts.vm_id is None:
        yield _verdict(
            node,
            "machine",
            Status.FAIL,
            "NO_METADATA",
            facts.unknown.get("vm_id", "no vmId"),
            "the metadata service must answer on the node",
        )
    elif not node.vm_id and (facts.vm_size or "").lower() == node.size.lower():
        told = f"{facts.vm_size}, vmId {facts.vm_id}: the contract names no vmId to compare with"
        yield _verdict(node, "machine", Status.NOT_MEASURED, "UNKNOWN", told, hint)
    else:
        good = facts.vm_id.lower() == node.vm_id.lower() and (facts.vm_size or "").lower() == node.size.lower()
        yield _yes_no(
            node,
            "machine",
            good,
            "WRONG_NODE",
            f"{facts.vm_size}, vmId {facts.vm_id}",
            f"is {facts.vm_size} with vmId {facts.vm_id}, the contract says {node.size} with {node.vm_id}",
            hint,
        )
    yield _yes_no(
        node,
        "sudo",
        facts.root,
        "NO_ROOT",
        "the node program works as root",
        "the node program does not work as root",
        f"give the operator passwordless sudo on {node.name}",
    )
    yield _yes_no(
        node,
        "identity",
        bool(facts.token),
        "NO_TOKEN",
        f"a token for {node.identity} was given",
        facts.unknown.get("token", "no token"),
        f"assign identity {node.identity} to the VM: `pulumi up`",
    )


def _tools(node: Node, facts: NodeFacts) -> Iterator[Verdict]:
    for name, text, least in (("AzCopy", facts.azcopy, AZCOPY_MIN), ("BlobFuse2", facts.blobfuse2, BLOBFUSE2_MIN)):
        wanted = ".".join(map(str, least))
        good = text is not None and _version(text) >= least
        shown = f"{text} (Feedline's stand-in)" if name == "BlobFuse2" and facts.blobfuse2_is_standin else str(text)
        yield _yes_no(
            node,
            name,
            good,
            "TOO_OLD" if text else "MISSING",
            shown,
            f"{text or 'not installed'}, {wanted} or newer is needed",
            "cloud-init installs it: see the package source in the settings",
        )
    yield _yes_no(
        node,
        "FUSE",
        facts.fuse,
        "NO_FUSE",
        f"/dev/fuse and fusermount3 {facts.fuse_version or ''}".rstrip(),
        "no /dev/fuse or no fusermount3",
        "install fuse3",
    )
    yield _yes_no(
        node,
        "nftables",
        facts.nftables,
        "NO_NFTABLES",
        "nft answers",
        "nft is not installed",
        "`fab validate` counts the endpoints' bytes with it",
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _reach(node: Node, facts: NodeFacts) -> Iterator[Verdict]:
    for endpoint in facts.endpoints:
        yield from _endpoint(node, endpoint)
    offsets = [e.clock_offset_s for e in facts.endpoints if e.clock_offset_s is not None]
    if not offsets:
        yield _verdict(
            node,
            "clock",
            Status.NOT_MEASURED,
            "UNKNOWN",
            "no endpoint told its time",
            "see the lines about the endpoints",
        )
        return
    off = max(offsets, key=abs)
    status = Status.FAIL if abs(off) > CLOCK_FAIL_S else Status.WARN if abs(off) > CLOCK_WARN_S else Status.PASS
    yield Verdict(
        "doctor",
        "clock",
        node.name,
        status,
        "OK" if status is Status.PASS else "CLOCK_OFF",
        f"{off:+.1f} s against the storage endpoint",
        "" if status is Status.PASS else "set the clock (chrony); tokens and requests are refused when it is off",
        off,
        -CLOCK_FAIL_S,
        CLOCK_FAIL_S,
        "s",
    )


def _endpoint(node: Node, endpoint: Endpoint) -> Iterator[Verdict]:
    host = endpoint.url.removeprefix("https://")
    at = f"{host} at {', '.join(endpoint.addresses)}"
    public = [a for a in endpoint.addresses if not _private(a)]
    if not endpoint.addresses:
        status, reason, message = Status.FAIL, "NO_NAME", f"{host}: {endpoint.problem or 'no address'}"
        hint = "link the privatelink zone to the VNet: `pulumi up`"
    elif public:
        status, reason, message = Status.FAIL, "PUBLIC_ADDRESS", f"{at}: {', '.join(public)} is public"
        hint = "the privatelink zone is not linked to this VNet, or has no record: `pulumi up`"
    elif not endpoint.tls:
        status, reason, message = Status.FAIL, "NO_CONNECTION", f"{at}: {endpoint.problem}"
        hint = "check the private endpoint's state, the NSG and the node's CA certificates"
    else:
        status, reason, hint = Status.PASS, "OK", ""
        message = f"private at {', '.join(endpoint.addresses)}, TLS verified"
    yield _verdict(node, f"endpoint {host.split('.', 1)[1].split('.')[0]}", status, reason, message, hint)


def _private(address: str) -> bool:
    """Whether an address is one a VNet hands out. is_private will not do: it says yes to documentation ranges, and no
    to 100.64.0.0/10."""
    return any(ipaddress.ip_address(address) in network for network in PRIVATE)


def _hardware(contract: Contract, node: Node, facts: NodeFacts) -> Iterator[Verdict]:
    size = SIZES.get(node.size)
    if size is None:
        if node.role == "train":
            yield _verdict(
                node,
                "hardware",
                Status.NOT_MEASURED,
                "UNKNOWN_SIZE",
                f"{node.size} is not in the catalogue: there is nothing to compare with",
                "add it, with its source, to feedline/catalog/nd_series.py",
            )
        return
    counts = (
        ("GPUs", "gpus", facts.gpus, size.gpus),
        ("NVMe disks", "nvme_disks", facts.nvme_disks, size.nvme_count if node.nvme_disks is None else node.nvme_disks),
        ("cores", "cores", facts.cores, size.vcpus),
    )
    for check, name, found, wanted in counts:
        if contract.is_sandbox:
            yield _simulated(node, check, f"{found} here; {node.size} has {wanted}")
        elif found is None:
            yield _verdict(
                node,
                check,
                Status.FAIL,
                "UNKNOWN",
                f"could not be counted: {facts.unknown.get(name, 'no answer')}",
                "see the kernel's and the driver's log",
            )
        else:
            yield _yes_no(
                node,
                check,
                found == wanted,
                "WRONG_COUNT",
                f"{found}",
                f"{found}, the size has {wanted}",
                "an ephemeral OS disk takes whole NVMe disks; a lost GPU is a case for Azure: `fab cluster.replace`",
            )
    if contract.is_sandbox:
        yield _simulated(node, "network interfaces", f"{facts.nics} here")
    else:
        yield _yes_no(
            node,
            "network interfaces",
            bool(facts.nics),
            "WRONG_COUNT",
            f"{facts.nics} front-end interface",
            "no front-end interface (eth*)",
            "look at the VM's network interfaces in Azure",
        )
    if contract.is_sandbox:
        yield _simulated(node, "memory", "the machine's, not the node's")
    else:
        good = facts.memory_bytes >= size.memory_bytes * MEMORY_MIN
        yield _yes_no(
            node,
            "memory",
            good,
            "WRONG_COUNT",
            f"{facts.memory_bytes / GIB:.0f} GiB",
            f"{facts.memory_bytes / GIB:.0f} GiB, the size has {size.memory_bytes / GIB:.0f} GiB",
            "report it to Azure: `fab cluster.replace`",
        )


def _simulated(node: Node, check: str, message: str) -> Verdict:
    return Verdict(
        "doctor",
        check,
        node.name,
        Status.NOT_MEASURED,
        "SIMULATED",
        f"simulated hardware: {message}",
        evidence={"simulated": True},
    )
