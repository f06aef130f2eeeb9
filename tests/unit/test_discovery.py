"""Instances of a scale set become nodes by what ARM answers."""

from typing import Any

import pytest

from feedline.contract import ScaleSet
from feedline.discovery import nodes_of
from feedline.errors import OperationError

VMSS = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/gpu"
SET = ScaleSet("gpu", VMSS, "train", "train", "Standard_ND96isr_H100_v5", "gpu", nvme_disks=7)


def instance(number: int) -> dict[str, Any]:
    properties = {"osProfile": {"computerName": f"gpu00000{number}".upper()}, "vmId": f"vm-{number}"}
    return {"id": f"{VMSS}/virtualMachines/{number}", "instanceId": str(number), "properties": properties}


def nic(number: int, address: str) -> dict[str, Any]:
    owner = {"id": f"{VMSS}/virtualMachines/{number}".upper()}
    return {
        "properties": {"virtualMachine": owner, "ipConfigurations": [{"properties": {"privateIPAddress": address}}]}
    }


def test_each_instance_is_a_node_with_its_own_address_in_the_order_of_the_ids() -> None:
    found = nodes_of(SET, [instance(10 % 7), instance(0)], [nic(0, "10.0.1.4"), nic(3, "10.0.1.7")])
    assert [(n.name, n.address, n.vm_id, n.nvme_disks) for n in found] == [
        ("gpu000000", "10.0.1.4", "vm-0", 7),
        ("gpu000003", "10.0.1.7", "vm-3", 7),
    ]
    assert {n.role for n in found} == {"train"}


def test_an_instance_without_an_address_is_named_and_not_left_out() -> None:
    with pytest.raises(OperationError, match="without an address: gpu000001"):
        nodes_of(SET, [instance(0), instance(1)], [nic(0, "10.0.1.4")])
