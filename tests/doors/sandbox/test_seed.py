"""What makes a copy of the image one VM."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.nodes.seed import device_names, machine_of, write

CUSTOM = b"#cloud-config\nruncmd: [true]\n"


def vm(**profile: Any) -> dict[str, Any]:
    return {
        "id": "/subscriptions/s/vm",
        "name": "vm-gpu-0",
        "properties": {
            "vmId": "1234",
            "osProfile": {
                "computerName": "gpu-0",
                "adminUsername": "operator",
                "customData": base64.b64encode(CUSTOM).decode(),
                "linuxConfiguration": {"ssh": {"publicKeys": [{"keyData": "ssh-ed25519 AAAA me\n"}]}},
            }
            | profile,
        },
    }


def test_a_vms_own_custom_data_name_and_keys_reach_its_disk(tmp_path: Path) -> None:
    write(tmp_path, machine_of(vm()), ca_pem="", gpus=8)
    seed = tmp_path / "var/lib/cloud/seed/nocloud"
    assert (seed / "user-data").read_bytes() == CUSTOM
    meta = json.loads((seed / "meta-data").read_text())
    assert meta == {"instance-id": "1234", "local-hostname": "gpu-0", "public-keys": ["ssh-ed25519 AAAA me"]}
    config = json.loads((tmp_path / "etc/cloud/cloud.cfg.d/90-sandbox.cfg").read_text())
    assert config["system_info"]["default_user"]["name"] == "operator"
    assert config["datasource_list"] == ["NoCloud"]
    assert (tmp_path / "etc/feedline-sandbox/gpus").read_text() == "8\n"


def test_its_own_name_resolves_without_dns(tmp_path: Path) -> None:
    write(tmp_path, machine_of(vm()), ca_pem="", gpus=0)
    assert "127.0.1.1 gpu-0" in (tmp_path / "etc/hosts").read_text()
    assert "nameserver 168.63.129.16" in (tmp_path / "etc/resolv.conf").read_text()
    assert not (tmp_path / "etc/feedline-sandbox").exists()


def test_custom_data_that_is_not_base64_is_refused_as_azure_does() -> None:
    with pytest.raises(ValueError, match="not base64"):
        machine_of(vm(customData="#cloud-config"))


def test_a_vm_without_custom_data_boots_all_the_same() -> None:
    assert machine_of(vm(customData=None)).user_data.startswith(b"#cloud-config")


def test_local_disks_are_named_by_index() -> None:
    assert device_names(["/dev/loop4"]) == "L+ /dev/disk/azure/local/by-index/0 - - - - /dev/loop4\n"
    assert device_names([]) == ""
