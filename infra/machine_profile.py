"""What every GPU or ingest machine says about its system, disks and security - alone or in a scale set."""

from __future__ import annotations

import base64
from typing import Any

from feedline.catalog.nd_series import SIZES
from feedline.classification import of
from feedline.render.cloud_init import custom_data
from feedline.settings import Settings

OS_DISK_GIB = 128
SANDBOX_BOOT = "sandbox-boot"
"""The tag that the simulated Azure reads: `off` = declare the machine, do not start it. Azure ignores it."""


def os_profile(settings: Settings, role: str) -> dict[str, Any]:
    """Given the settings and a role, return the part of an osProfile that every machine has."""
    user = settings.nodes.admin_user
    key = {"path": f"/home/{user}/.ssh/authorized_keys", "key_data": settings.nodes.ssh_public_key}
    return {
        "admin_username": user,
        "custom_data": base64.b64encode(custom_data(settings.packages, role).encode()).decode(),
        "linux_configuration": {
            "disable_password_authentication": True,
            "ssh": {"public_keys": [key]},
            "patch_settings": {"patch_mode": "ImageDefault"},
        },
    }


def storage_profile(settings: Settings, role: str, *, in_scale_set: bool = False) -> dict[str, Any]:
    """Given the settings and a role, return image and disks. Disks of a scale set's instances always go with them."""
    gpu = role == "train"
    disk: dict[str, Any] = {"create_option": "FromImage", "caching": "ReadOnly", "disk_size_gb": OS_DISK_GIB}
    if not in_scale_set:
        disk["delete_option"] = "Delete"
    if gpu and settings.nodes.os_disk == "ephemeral":
        # On the local NVMe: such a machine cannot be deallocated, and takes whole disks from the cache.
        disk["diff_disk_settings"] = {"option": "Local", "placement": "NvmeDisk"}
    else:
        disk["managed_disk"] = {"storage_account_type": "Premium_LRS"}
    found: dict[str, Any] = {"image_reference": image(settings.nodes.image), "os_disk": disk}
    if gpu and SIZES[settings.nodes.size].disk_controller == "NVMe":
        found["disk_controller_type"] = "NVMe"
    if gpu and settings.nodes.cache_disk_gib:
        found["data_disks"] = [
            {
                "lun": 0,  # the one disk that is ours to format; every other one is left alone
                "create_option": "Empty",
                "caching": "None",
                "disk_size_gb": settings.nodes.cache_disk_gib,
                "managed_disk": {"storage_account_type": "Premium_LRS"},
                **({} if in_scale_set else {"delete_option": "Delete"}),
            }
        ]
    return found


def image(text: str) -> dict[str, str]:
    """Given publisher:offer:sku:version or a gallery image version's id, return the image reference."""
    if text.startswith("/"):
        return {"id": text}
    return dict(zip(("publisher", "offer", "sku", "version"), text.split(":"), strict=True))


def security_profile(settings: Settings) -> dict[str, Any] | None:
    """Given the settings, return the security profile that the data's classification asks for, or None."""
    return {"encryption_at_host": True} if of(settings.lake.classification).cache == "host" else None


def tags(settings: Settings, role: str) -> dict[str, str]:
    """Given the settings and a role, return the tags of a machine."""
    found = {"feedline": settings.cluster, "feedline-role": role}
    return found if settings.nodes.boot else found | {SANDBOX_BOOT: "off"}
