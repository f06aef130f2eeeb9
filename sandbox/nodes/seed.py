"""What makes a copy of the image *this* VM: its name, keys, customData, certificate authority, resolver, devices.

Written onto a new OS disk from outside, once, as Azure's fabric does with its provisioning media. Device names are the
exception: loop numbers change, so they are bound into the node at every boot.

As a program (`python -m sandbox.nodes.seed DEVICE FOLDER`, JSON on stdin) it mounts the disk, writes and unmounts, in a
mount namespace of its own: a mount that others can see would be held by every node that boots meanwhile.
"""

import base64
import binascii
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.nodes.tools import run

DNS = "168.63.129.16"
DEVICE_NAMES = "/etc/tmpfiles.d/azure-local-disks.conf"


@dataclass(frozen=True)
class Machine:
    """The part of a VM's model that its operating system gets to see."""

    instance_id: str
    hostname: str
    admin: str
    public_keys: tuple[str, ...]
    user_data: bytes


def machine_of(vm: dict[str, Any]) -> Machine:
    """Given a VM in ARM's shape, return what its OS gets. Raise ValueError if customData is not base64."""
    properties = vm["properties"]
    profile = properties.get("osProfile") or {}
    ssh = ((profile.get("linuxConfiguration") or {}).get("ssh") or {}).get("publicKeys") or []
    try:
        user_data = base64.b64decode(profile.get("customData") or "", validate=True)
    except binascii.Error as bad:
        raise ValueError(f"osProfile.customData of {vm['name']} is not base64") from bad
    return Machine(
        instance_id=str(properties.get("vmId") or vm["id"].lower().replace("/", "-").strip("-")),
        hostname=profile.get("computerName") or vm["name"],
        admin=profile.get("adminUsername") or "azureuser",
        public_keys=tuple(key["keyData"].strip() for key in ssh),
        user_data=user_data or b"#cloud-config\n{}\n",
    )


def seed_disk(loop: str, folder: Path, machine: Machine, *, ca_pem: Path | None, gpus: int) -> None:
    """Given a new OS disk's loop, make it that machine's own. Raise ToolError if it cannot be mounted or written."""
    folder.mkdir(parents=True, exist_ok=True)
    order = {
        "machine": asdict(machine) | {"user_data": base64.b64encode(machine.user_data).decode()},
        "ca_pem": ca_pem.read_text() if ca_pem else "",
        "gpus": gpus,
    }
    run(
        [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "--",
            sys.executable,
            "-m",
            "sandbox.nodes.seed",
            loop,
            str(folder),
        ],
        stdin=json.dumps(order),
    )


def main(loop: str, folder: str) -> None:
    """Mount the disk, write what stdin orders, unmount."""
    order = json.load(sys.stdin)
    machine = Machine(**order["machine"] | {"user_data": base64.b64decode(order["machine"]["user_data"])})
    run(["mount", "-t", "ext4", loop, folder])
    try:
        write(Path(folder), machine, ca_pem=order["ca_pem"], gpus=order["gpus"])
    finally:
        run(["umount", folder])


def write(root: Path, machine: Machine, *, ca_pem: str, gpus: int) -> None:
    """Given a mounted OS disk, write the machine's name, keys, customData, certificate authority and GPU count."""
    for name, text in _files(machine).items():
        _put(root / name, text.encode())
    _put(root / "var/lib/cloud/seed/nocloud/user-data", machine.user_data, mode=0o600)
    if gpus:
        _put(root / "etc/feedline-sandbox/gpus", f"{gpus}\n".encode())
    if ca_pem:
        _trust(root, ca_pem)


def _trust(root: Path, ca_pem: str) -> None:
    """Do what update-ca-certificates would for one new authority, without its seconds of rehashing the other 140."""
    source = "/usr/local/share/ca-certificates/feedline-sandbox.crt"
    _put(root / source[1:], ca_pem.encode())
    store = root / "etc/ssl/certs"
    with (store / "ca-certificates.crt").open("a") as bundle:
        bundle.write(ca_pem)
    (store / "feedline-sandbox.pem").symlink_to(source)
    digest = run(["chroot", str(root), "openssl", "x509", "-noout", "-subject_hash", "-in", source]).strip()
    (store / f"{digest}.0").symlink_to("feedline-sandbox.pem")


def device_names(nvme: Sequence[str]) -> str:
    """Given the NVMe devices of a boot, return the tmpfiles.d lines that name them as Azure's own udev rules do."""
    return "".join(f"L+ /dev/disk/azure/local/by-index/{index} - - - - {device}\n" for index, device in enumerate(nvme))


def _files(machine: Machine) -> dict[str, str]:
    """Return the text files of a machine by path. JSON is YAML, so cloud-init's files need no YAML library here."""
    config = {
        "datasource_list": ["NoCloud"],
        "network": {"config": "disabled"},  # the fabric configures eth0 from outside
        "locale": False,
        "preserve_hostname": True,
        "resize_rootfs": False,
        "growpart": {"mode": "off"},
        "ssh_genkeytypes": ["ed25519"],  # an RSA key costs a second of the boot
        "apt": {"preserve_sources_list": True},
        "system_info": {
            "default_user": {
                "name": machine.admin,
                "lock_passwd": True,
                "gecos": "Azure admin",
                "groups": ["adm", "sudo"],
                "sudo": ["ALL=(ALL) NOPASSWD:ALL"],
                "shell": "/bin/bash",
            }
        },
    }
    meta = {
        "instance-id": machine.instance_id,
        "local-hostname": machine.hostname,
        "public-keys": list(machine.public_keys),
    }
    return {
        "etc/cloud/cloud.cfg.d/90-sandbox.cfg": json.dumps(config, indent=1),
        "var/lib/cloud/seed/nocloud/meta-data": json.dumps(meta, indent=1),
        "etc/hostname": f"{machine.hostname}\n",
        # Its own name must resolve, or every sudo waits for DNS.
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {machine.hostname}\n",
        "etc/resolv.conf": f"nameserver {DNS}\noptions timeout:1 attempts:2\n",
    }


def _put(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    path.write_bytes(content)
    path.chmod(mode)


def forget(folder: Path) -> None:
    """Remove a node's disks and state."""
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
