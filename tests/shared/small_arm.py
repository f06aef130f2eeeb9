"""The ARM face over a cloud with one network and one identity, with machines that only remember; and a scale set."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from sandbox.arm.app import make_app
from sandbox.arm.compute import NullCompute
from sandbox.cloud import Cloud
from sandbox.cloud.machines import machines, node_name

GROUP = "/subscriptions/s/resourceGroups/rg"
VNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
SET = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/gpu"
TRAIN = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/train"


def body(capacity: int, **changes: Any) -> dict[str, Any]:
    """Return a scale set as a program would put it."""
    properties = {
        "orchestrationMode": "Uniform",
        "singlePlacementGroup": True,
        "overprovision": False,
        "upgradePolicy": {"mode": "Manual"},
        "virtualMachineProfile": {
            "osProfile": {"computerNamePrefix": "gpu", "adminUsername": "azureuser", "customData": "aGVsbG8="},
            "storageProfile": {"imageReference": {"sku": "2404"}},
            "networkProfile": {
                "networkInterfaceConfigurations": [
                    {
                        "name": "primary",
                        "properties": {
                            "primary": True,
                            "ipConfigurations": [
                                {"name": "primary", "properties": {"subnet": {"id": f"{VNET}/subnets/nodes"}}}
                            ],
                        },
                    }
                ]
            },
        },
        **changes,
    }
    return {
        "location": "eastus",
        "sku": {"name": "Standard_ND96isr_H100_v5", "capacity": capacity},
        "identity": {"type": "UserAssigned", "userAssignedIdentities": {TRAIN: {}}},
        "properties": properties,
    }


class Arm:
    """The ARM face with a cloud and machines that only remember."""

    def __init__(self, folder: Path) -> None:
        self.client: Any = None
        self.cloud, self.compute = Cloud(folder / "cloud.json"), NullCompute()
        self.cloud.put(GROUP, {"location": "eastus"})
        self.cloud.put(
            VNET, {"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}}
        )
        self.cloud.put(f"{VNET}/subnets/nodes", {"properties": {"addressPrefix": "10.0.1.0/24"}})
        self.cloud.put(TRAIN, {"location": "eastus"})

    async def call(self, method: str, path: str, given: Any = None) -> tuple[int, Any]:
        """One request; an operation is waited for, and its failure is the answer."""
        response = await self.client.request(method, path, params={"api-version": "2024-11-01"}, json=given)
        answer = await response.json() if response.content_type == "application/json" else None
        where = response.headers.get("Azure-AsyncOperation")
        while where:
            state = await (await self.client.get(where)).json()
            if state["status"] == "Failed":
                return 500, state["error"]
            if state["status"] == "Succeeded":
                break
            await asyncio.sleep(0.01)
        return response.status, answer


def names(arm: Arm) -> list[str]:
    """Return the names of the nodes there are to be."""
    return sorted(node_name(m) for m in machines(arm.cloud))


def play(folder: Path, scene: Callable[[Arm], Awaitable[None]]) -> None:
    """Play a scene against a fresh ARM."""

    async def whole() -> None:
        arm = Arm(folder)
        async with TestClient(TestServer(make_app(arm.cloud, arm.compute))) as client:
            arm.client = client
            await scene(arm)

    asyncio.run(whole())
