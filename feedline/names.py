"""Names people type, in one place."""

from __future__ import annotations

CONTAINERS = ("raw", "training-data", "checkpoints", "models", "artifacts")

RESOURCE_DISK = "/mnt/resource"
"""Where the local NVMe is mounted. Azure's own name for the temporary disk."""

NVME_LABEL = "feedlinenvme"
"""Label of the cache file system; xfs takes 12 characters at most."""
CACHE_ROOT = f"{RESOURCE_DISK}/blobfuse2cache"
CONFIG_FOLDER = "/etc/feedline"
STATE_FOLDER = "/var/lib/feedline"
LOG_FOLDER = "/var/log/feedline"
BUNDLE_FOLDER = "/opt/feedline"
STAGE_MARKER = f"{STATE_FOLDER}/cloud-init-stage"
"""Written by our customData: the last word in it is `complete` once every stage ran."""

NVME_UNIT = "feedline-nvme.service"
SEAL_BLOB = "_feedline/seal.json"
"""The blob that seals an ingested data set: written last, under the data set's prefix."""

MANIFEST_BLOB = "_feedline/manifest.json"


def mount_unit(mount: str) -> str:
    """Given a mount's name, return the systemd unit that holds it: `feedline-mount-training-data.service`."""
    return f"feedline-mount-{mount}.service"


def mount_config(mount: str) -> str:
    """Given a mount's name, return the path of its BlobFuse2 configuration."""
    return f"{CONFIG_FOLDER}/{mount}.yaml"
