"""Machines, alone or in a scale set: pinned, private, patched on purpose, with an identity instead of secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from policies.read import MACHINES, inside, is_gpu, profile
from policies.rule import Properties, rule

_SECRET = re.compile(
    r"AccountKey=|sig=[A-Za-z0-9%]{20,}|SharedAccessSignature|BEGIN (RSA |OPENSSH |EC )?PRIVATE KEY", re.IGNORECASE
)
_MAX_CUSTOM_DATA = 64 * 1024
_H100 = {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}}


def _linux(**settings: object) -> dict[str, object]:
    return {"osProfile": {"linuxConfiguration": settings}}


@rule(
    "compute-pinned-image",
    MACHINES,
    "A cluster is rebuilt as it was.",
    "image_reference version, not latest; of a gallery, an image version's id",
    passes={"storageProfile": {"imageReference": {"offer": "ubuntu-hpc", "version": "24.04.2026071601"}}},
    fails={"storageProfile": {"imageReference": {"offer": "ubuntu-hpc", "version": "latest"}}},
)
def pinned_image(p: Properties) -> Iterator[str]:
    reference = inside(profile(p), "storageProfile", "imageReference")
    words = str(reference.get("id") or reference.get("communityGalleryImageId") or "").lower().strip("/").split("/")
    if len(words) > 1 and "images" in words:  # a gallery's image is whatever its newest version is
        pinned = "versions" in words and words[-1] != "latest" if "galleries" in words else True
    else:
        pinned = reference.get("version") not in (None, "", "latest")
    if not pinned:
        yield "image version is not pinned: a re-created node would be another node"


@rule(
    "compute-no-password",
    MACHINES,
    "Passwords are guessed.",
    "disable_password_authentication=True and a public key",
    passes=_linux(disablePasswordAuthentication=True),
    fails=_linux(disablePasswordAuthentication=False),
)
def no_password(p: Properties) -> Iterator[str]:
    system = inside(profile(p), "osProfile")
    if (
        system.get("adminPassword")
        or inside(system, "linuxConfiguration").get("disablePasswordAuthentication") is not True
    ):
        yield "password login is possible"


@rule(
    "compute-managed-identity",
    MACHINES,
    "Identities cannot be copied out of a file.",
    "a user-assigned identity",
    passes={"identity": {"userAssignedIdentities": ["/…/userAssignedIdentities/id-train"]}},
    fails={"identity": {"type": "SystemAssigned"}},
)
def managed_identity(p: Properties) -> Iterator[str]:
    if not inside(p, "identity").get("userAssignedIdentities"):
        yield "has no user-assigned identity: its jobs would need a secret"


@rule(
    "compute-custom-data",
    MACHINES,
    "customData can be read by every process of the node.",
    "take the secret out and use the managed identity; at most 64 KB",
    passes={"osProfile": {"customData": base64.b64encode(b"#cloud-config").decode()}},
    fails={"osProfile": {"customData": base64.b64encode(b"AccountKey=abc").decode()}},
)
def custom_data(p: Properties) -> Iterator[str]:
    encoded = inside(profile(p), "osProfile").get("customData")
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


@rule(
    "compute-patched-on-purpose",
    MACHINES,
    "A driver that updates itself ends a job, and the next node differs from this one.",
    'patch_settings={"patch_mode": "ImageDefault"}; replace the image instead',
    passes=_linux(patchSettings={"patchMode": "ImageDefault"}),
    fails=_linux(patchSettings={"patchMode": "AutomaticByPlatform"}),
)
def patched_on_purpose(p: Properties) -> Iterator[str]:
    if inside(profile(p), "osProfile", "linuxConfiguration", "patchSettings").get("patchMode") == "AutomaticByPlatform":
        yield "Azure patches and restarts it when it likes"
    if inside(p, "upgradePolicy", "automaticOSUpgradePolicy").get("enableAutomaticOSUpgrade") is True:
        yield "Azure replaces its OS disk when a new image appears"


@rule(
    "compute-no-spot",
    MACHINES,
    "An evicted node loses the data set that was staged on it.",
    'priority="Regular", or an exception where jobs restart by themselves',
    passes={**_H100, "priority": "Regular"},
    fails={**_H100, "priority": "Spot"},
    level="advisory",
)
def no_spot(p: Properties) -> Iterator[str]:
    if is_gpu(p) and profile(p).get("priority") in ("Spot", "Low"):
        yield "is a spot machine: it goes at 30 seconds' notice, and the cache with it"
