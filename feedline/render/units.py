"""systemd units of a node, rendered whole: what is on disk is what was decided here."""

from __future__ import annotations

from feedline.contract import Mount
from feedline.names import CACHE_ROOT, NVME_UNIT, RESOURCE_DISK, mount_config

TOOL_FOLDER = "/usr/local/lib/feedline"
"""A copy of the node program that survives new bundles: what boots must not depend on what was sent last."""

MOUNT_WAIT_S = 120
STOP_WAIT_S = 300
"""BlobFuse2 flushes and wipes its cache when it is stopped; a large one takes its time."""

FOREIGN = " ".join(
    (
        *("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCESS_KEY"),
        *("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_AUTH_TYPE", "AZURE_STORAGE_IDENTITY_CLIENT_ID"),
        *("IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET", "IMDS_ENDPOINT"),
    )
)
"""Variables that BlobFuse2 would prefer over its configuration file."""


def nvme_unit() -> str:
    """Return the unit that makes /mnt/resource again at every boot, when the disk came back empty."""
    return f"""[Unit]
Description=Feedline: local NVMe at {RESOURCE_DISK}
After=local-fs.target systemd-udev-settle.service
Before=remote-fs.target
ConditionPathExists={TOOL_FOLDER}/node/__main__.py

[Service]
Type=oneshot
RemainAfterExit=yes
StandardInput=null
ExecStart=/usr/bin/python3 -I {TOOL_FOLDER}/node/__main__.py boot
ExecStop=-/usr/bin/umount {RESOURCE_DISK}
TimeoutStartSec=300

[Install]
WantedBy=multi-user.target
"""


def mount_unit_file(mount: Mount) -> str:
    """Given a mount, return the unit that holds its BlobFuse2 in the foreground.

    Type=simple says "active" before the mount exists, so ExecStartPost waits for it; without ExecStop a SIGTERM
    leaves a dead mount and a full cache behind (seen in 2.5.6). ExecStartPre refuses a cache that is not on the NVMe.
    """
    config = mount_config(mount.name)
    check = f"/usr/bin/python3 -I {TOOL_FOLDER}/node/guard.py"
    return f"""[Unit]
Description=Feedline: {mount.container} at {mount.path} (BlobFuse2)
Requires={NVME_UNIT}
After={NVME_UNIT} network-online.target
Wants=network-online.target
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=simple
Environment=HOME=/root
UnsetEnvironment={FOREIGN}
ExecStartPre={check} cache {config} {CACHE_ROOT}
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
