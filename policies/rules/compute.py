"""Compute: pinned, private, together, and with an identity instead of secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from policies.rule import Properties, Resource, Rule, StackRule

_VM = ("compute:VirtualMachine",)
_RDMA = re.compile(r"standard_nd\d+.*r.*", re.IGNORECASE)
_SECRET = re.compile(
    r"AccountKey=|sig=[A-Za-z0-9%]{20,}|SharedAccessSignature|BEGIN (RSA |OPENSSH |EC )?PRIVATE KEY", re.IGNORECASE
)
_MAX_CUSTOM_DATA = 64 * 1024


def _size(p: Properties) -> str:
    return str((p.get("hardwareProfile") or {}).get("vmSize", ""))


def _image(p: Properties) -> Iterator[str]:
    reference = (p.get("storageProfile") or {}).get("imageReference") or {}
    if not reference.get("id") and reference.get("version") in (None, "latest"):
        yield "image version is not pinned: a re-created node would be another node"


def _password(p: Properties) -> Iterator[str]:
    profile = p.get("osProfile") or {}
    if (
        profile.get("adminPassword")
        or (profile.get("linuxConfiguration") or {}).get("disablePasswordAuthentication") is not True
    ):
        yield "password login is possible"


def _identity(p: Properties) -> Iterator[str]:
    if not (p.get("identity") or {}).get("userAssignedIdentities"):
        yield "has no user-assigned identity: its jobs would need a secret"


def _custom_data(p: Properties) -> Iterator[str]:
    encoded = (p.get("osProfile") or {}).get("customData")
    if not encoded:
        return
    try:
        text = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        yield "customData is not base64"
        return
    if len(text) > _MAX_CUSTOM_DATA:
        yield f"customData is {len(text)} B, Azure takes {_MAX_CUSTOM_DATA} B"
    if _SECRET.search(text.decode("utf-8", "replace")):
        yield "customData holds what looks like a secret; every process on the node can read it"


def _os_disk(p: Properties) -> Iterator[str]:
    disk = ((p.get("storageProfile") or {}).get("osDisk") or {}).get("managedDisk") or {}
    if str(disk.get("storageAccountType", "")).startswith("Standard_LRS"):
        yield "OS disk is an HDD (Standard_LRS)"
    for data in (p.get("storageProfile") or {}).get("dataDisks") or []:
        if str((data.get("managedDisk") or {}).get("storageAccountType", "")).startswith("Standard_LRS"):
            yield f"data disk at LUN {data.get('lun')} is an HDD (Standard_LRS)"


def _disk(p: Properties) -> Iterator[str]:
    if (p.get("sku") or {}).get("name") == "Standard_LRS":
        yield "is an HDD (Standard_LRS): 60 MB/s starves eight GPUs"


def _reservation(p: Properties) -> Iterator[str]:
    if p.get("capacityReservation") and "standard_nd" in _size(p).lower():
        yield "capacity reservations do not exist for ND sizes"


def _zone(p: Properties) -> Iterator[str]:
    if _RDMA.match(_size(p)) and p.get("zones"):
        yield "an RDMA size is placed by availability set or single placement group, not by zone"


def _flexible(p: Properties) -> Iterator[str]:
    size = str((p.get("sku") or {}).get("name", ""))
    if p.get("orchestrationMode") == "Flexible" and _RDMA.match(size):
        yield f"{size} in a Flexible scale set: no InfiniBand is documented there"


RULES = (
    Rule("compute-pinned-image", _VM, "A cluster is rebuilt as it was.", "image_reference version, not latest", _image),
    Rule(
        "compute-no-password",
        _VM,
        "Passwords are guessed.",
        "disable_password_authentication=True and a public key",
        _password,
    ),
    Rule(
        "compute-managed-identity",
        _VM,
        "Identities cannot be copied out of a file.",
        "a user-assigned identity",
        _identity,
    ),
    Rule(
        "compute-custom-data",
        _VM,
        "customData is public to the node.",
        "take the secret out; use the managed identity",
        _custom_data,
    ),
    Rule("compute-no-hdd", _VM, "An HDD in the path starves GPUs.", "Premium_LRS", _os_disk),
    Rule(
        "compute-no-hdd-disk",
        ("compute:Disk",),
        "An HDD in the path starves GPUs.",
        "Premium_LRS or PremiumV2_LRS",
        _disk,
    ),
    Rule("compute-no-reservation", _VM, "It would fail at apply.", "leave capacity_reservation out", _reservation),
    Rule("compute-no-zone", _VM, "InfiniBand needs one fabric.", "leave zones out", _zone),
    Rule(
        "compute-no-flexible",
        ("compute:VirtualMachineScaleSet",),
        "InfiniBand needs one placement group.",
        "Uniform, or an availability set",
        _flexible,
    ),
)


def _together(resources: list[Resource]) -> Iterable[tuple[str, str]]:
    nodes = [r for r in resources if r.type == "compute:VirtualMachine" and _RDMA.match(_size(r.properties))]
    alone = [
        r.name
        for r in nodes
        if not r.properties.get("availabilitySet") and not r.properties.get("virtualMachineScaleSet")
    ]
    if len(nodes) > 1:
        for name in alone:
            yield name, "is in no availability set: it gets its own InfiniBand partition"


STACK_RULES = (
    StackRule(
        "compute-one-fabric", "Nodes that train together share a fabric.", "one availability set for all", _together
    ),
)
