"""The one customData of every node, in Azure and in a rehearsal: only the package source differs. Nothing secret is
in it."""

from __future__ import annotations

import json

from feedline.names import STAGE_MARKER, STATE_FOLDER
from feedline.settings import Packages

MAX_BYTES = 64 * 1024
PACKAGES = ("azcopy", "blobfuse2", "fuse3", "nftables")
HELD = ("azcopy", "blobfuse2")
HELD_PATTERNS = (
    "linux-image-*",
    "linux-headers-*",
    "linux-azure*",
    "nvidia-*",
    "libnvidia-*",
    "amdgpu*",
    "rocm*",
    "doca-*",
)
"""Kernel and drivers of GPUs and InfiniBand belong together: one that is updated alone leaves a node without GPUs."""
SOURCE_FILE = "/etc/apt/sources.list.d/feedline.list"
KEY_FILE = "/etc/apt/keyrings/feedline.asc"


def custom_data(packages: Packages, role: str) -> str:
    """Given the package settings and a node's role, return cloud-config text. Raise ValueError above 64 KB (Azure's
    limit).

    JSON is valid YAML, so the document is written as JSON: no quoting rules to get wrong. cloud-init's own package
    module is not used because it treats a missing package as a warning; here each stage is noted, and the last word
    is `complete`.
    """
    files = [
        {"path": SOURCE_FILE, "content": packages.source + "\n"},
        {
            "path": "/etc/apt/apt.conf.d/99feedline",
            "content": 'APT::Periodic::Unattended-Upgrade "0";\nAcquire::Retries "5";\n',
        },
        {"path": "/usr/local/sbin/feedline-first-boot", "permissions": "0755", "content": _script(packages, role)},
    ]
    if packages.signing_key:
        files.insert(0, {"path": KEY_FILE, "content": packages.signing_key})
    document = {
        "locale": False,
        "package_update": False,
        "package_upgrade": False,
        "ssh_pwauth": False,
        "disable_root": True,
        "write_files": files,
        "runcmd": [["/usr/local/sbin/feedline-first-boot"]],
    }
    text = "#cloud-config\n" + json.dumps(document, indent=1) + "\n"
    if len(text.encode()) > MAX_BYTES:
        raise ValueError(
            f"customData is {len(text.encode())} B, Azure takes {MAX_BYTES} B (hint: a shorter packages.signing_key)"
        )
    return text


def _script(packages: Packages, role: str) -> str:
    """First boot: each stage leaves a word in the marker; `fab doctor` reads the last one."""
    patterns = " ".join(f"'{pattern}'" for pattern in HELD_PATTERNS)
    hold = f"apt-mark hold {' '.join(HELD)}\n" if packages.held else ""
    if packages.held:  # whatever of these the image has; a name that matches nothing is no error
        installed = f"dpkg-query --show --showformat='${{db:Status-Status}} ${{Package}}\\n' {patterns} 2>/dev/null"
        hold += f"{{ {installed} || true; }} | sed -n 's/^installed //p' | xargs --no-run-if-empty apt-mark hold\n"
    return f"""#!/bin/sh
# Written by Feedline's customData. Role: {role}.
set -eu
export DEBIAN_FRONTEND=noninteractive
mkdir -p {STATE_FOLDER}
stage() {{ echo "$1" >> {STAGE_MARKER}; }}
: > {STAGE_MARKER}
stage started
# Only our source: a mirror that is down elsewhere must not keep a node from its packages.
apt-get update -o Dir::Etc::sourcelist={SOURCE_FILE} -o Dir::Etc::sourceparts=- || apt-get update
stage sources
apt-get install --yes --no-install-recommends {" ".join(PACKAGES)}
{hold}stage packages
grep -qx user_allow_other /etc/fuse.conf || echo user_allow_other >> /etc/fuse.conf
stage fuse
systemctl disable --now unattended-upgrades.service 2>/dev/null || true
stage complete
"""
