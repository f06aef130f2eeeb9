"""systemd units of a node, rendered whole: what is on disk is what was decided here."""

from __future__ import annotations

from feedline.contract import Mount
from feedline.names import CACHE_ROOT, NVME_UNIT, RESOURCE_DISK, mount_config

TOOL_FOLDER = "/usr/local/lib/feedline"
"""A copy of the node program that survives new bundles: what boots must not depend on what was sent last."""

NVME_START_S = 300
MOUNT_WAIT_S = 120
STOP_WAIT_S = 300
"""BlobFuse2 flushes and wipes its cache when it is stopped; a large one takes its time."""

RESTART_S = STOP_WAIT_S + MOUNT_WAIT_S + 60.0
"""How long a restart of a mount may take: whoever waits less gives up on one that comes."""

STORAGE = (
    "ACCOUNT ACCOUNT_TYPE ACCOUNT_CONTAINER ACCESS_KEY SAS_TOKEN AUTH_TYPE AUTH_RESOURCE BLOB_ENDPOINT AAD_ENDPOINT "
    "IDENTITY_CLIENT_ID IDENTITY_RESOURCE_ID IDENTITY_OBJECT_ID SPN_TENANT_ID SPN_CLIENT_ID SPN_CLIENT_SECRET "
    "USER_ASSERTION CPK_ENCRYPTION_KEY CPK_ENCRYPTION_KEY_SHA256 SERVICE_API_VERSION"
)
OTHERS = (
    "AZURE_CLIENT_ID AZURE_TENANT_ID AZURE_CLIENT_SECRET AZURE_OAUTH_TOKEN_FILE WORKLOAD_IDENTITY_TOKEN "
    "IDENTITY_ENDPOINT IDENTITY_HEADER IDENTITY_SERVER_THUMBPRINT MSI_ENDPOINT MSI_SECRET IMDS_ENDPOINT "
    "BLOBFUSE_PLUGIN_PATH BLOBFUSE2_SECURE_CONFIG_PASSPHRASE"
)
FOREIGN = " ".join([*(f"AZURE_STORAGE_{name}" for name in STORAGE.split()), OTHERS])
"""Variables that BlobFuse2 2.5 would prefer over its configuration file, or by which it would work as somebody else
(what its source reads: docs/reference/blobfuse2.md)."""


def started_record(mount: str) -> str:
    """Given a mount's name, return where its unit notes, at every start, from which files its daemon starts."""
    return f"/run/feedline/started-{mount}.json"


def nvme_unit(cache_lun: int | None = None) -> str:
    """Return the unit that makes /mnt/resource again at every boot, when the disk came back empty.

    `cache_lun` names the managed disk that is declared to be the cache; the program reads it from its stdin.
    """
    told = "null" if cache_lun is None else f'data\nStandardInputText={{"options": {{"cache_lun": {cache_lun}}}}}'
    return f"""[Unit]
Description=Feedline: local NVMe at {RESOURCE_DISK}
After=local-fs.target systemd-udev-settle.service
Before=remote-fs.target
ConditionPathExists={TOOL_FOLDER}/node/__main__.py

[Service]
Type=oneshot
RemainAfterExit=yes
StandardInput={told}
ExecStart=/usr/bin/python3 -I {TOOL_FOLDER}/node/__main__.py boot
ExecStop=-/usr/bin/umount {RESOURCE_DISK}
TimeoutStartSec={NVME_START_S}

[Install]
WantedBy=multi-user.target
"""


def mount_unit_file(mount: Mount) -> str:
    """Given a mount, return the unit that holds its BlobFuse2 in the foreground.

    Type=simple says "active" before the mount exists, so ExecStartPost waits for it; without ExecStop a SIGTERM
    leaves a dead mount and a full cache behind (seen in 2.5.6). ExecStartPre refuses a cache that is not on the NVMe,
    and notes what the daemon is started from.
    """
    config = mount_config(mount.name)
    check = f"/usr/bin/python3 -I {TOOL_FOLDER}/node/guard.py"
    return f"""[Unit]
Description=Feedline: {mount.container} at {mount.path} (BlobFuse2)
Requires={NVME_UNIT}
After={NVME_UNIT} network-online.target
Wants=network-online.target
RequiresMountsFor={RESOURCE_DISK}
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=simple
Environment=HOME=/root
UnsetEnvironment={FOREIGN}
ExecStartPre={check} start {mount.name} {CACHE_ROOT}
ExecStart=/usr/bin/blobfuse2 mount {mount.path} --config-file={config} --disable-version-check=true --foreground
ExecStartPost={check} mounted {mount.path} {MOUNT_WAIT_S}
ExecStop=/usr/bin/blobfuse2 unmount {mount.path}
ExecStopPost=-/usr/bin/fusermount3 -uz {mount.path}
Restart=on-failure
RestartSec=5
TimeoutStartSec={MOUNT_WAIT_S + 30}
TimeoutStopSec={STOP_WAIT_S}
LimitNOFILE=1048576
KillMode=mixed

[Install]
WantedBy=multi-user.target
"""
