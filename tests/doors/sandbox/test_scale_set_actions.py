"""What is done to the instances of a scale set: refused, changed, looked at, reimaged, deleted."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud.machines import as_node, machines, placement_group
from sandbox.identity.instance import find_vm, instance_document
from sandbox.provider.difference import changes
from sandbox.provider.model import find
from sandbox.provider.shape import drifted, from_arm, to_arm
from tests.shared import small_arm
from tests.shared.small_arm import GROUP, SET, TRAIN, VNET, Arm, body, names

LOCK = f"{SET}/providers/Microsoft.Authorization/locks/l"
INSTANCES = f"{SET}/virtualMachines"


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Arm], Awaitable[None]]], None]:
    return lambda scene: small_arm.play(tmp_path, scene)


def changed(model: dict[str, Any], **system: Any) -> dict[str, Any]:
    model["properties"]["virtualMachineProfile"]["osProfile"] |= system
    return model


def test_a_set_that_does_not_fit_its_subnet_is_refused_whole(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", f"{VNET}/subnets/small", {"properties": {"addressPrefix": "10.0.2.0/29"}})
        given = body(4)
        nic = given["properties"]["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"][0]
        nic["properties"]["ipConfigurations"][0]["properties"]["subnet"]["id"] = f"{VNET}/subnets/small"
        status, answer = await arm.call("PUT", SET, given)
        assert status == 400 and answer["error"]["code"] == "SubnetIsFull"
        assert arm.cloud.get(SET) is None and names(arm) == [] and arm.compute.calls == []
        assert arm.cloud.secret(SET) == {}

    play(scene)


def test_the_limit_of_one_placement_group_is_told_in_azures_words(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        _, answer = await arm.call("PUT", SET, body(301))
        assert answer["error"]["message"] == (
            "Unable to create or update Virtual Machine Scale Set 'gpu' as it exceeds the total limit of '300' "
            "Virtual Machine instances."
        )

    play(scene)


def test_fault_domains_and_mode_cannot_be_changed(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(0, platformFaultDomainCount=1))
        for change in ({"platformFaultDomainCount": 5}, {"orchestrationMode": "Flexible"}):
            _, answer = await arm.call("PUT", SET, body(0, **change))
            assert answer["error"]["code"] == "PropertyChangeNotAllowed"

    play(scene)


def test_a_flexible_set_without_a_size_only_groups_vms(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given = {"location": "eastus", "properties": {"orchestrationMode": "Flexible", "platformFaultDomainCount": 1}}
        assert (await arm.call("PUT", SET, given))[0] == 201 and names(arm) == []

    play(scene)


def test_an_instance_cannot_be_put_from_outside(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1))
        assert (await arm.call("PUT", f"{INSTANCES}/7", {"location": "eastus"}))[0] == 400
        assert names(arm) == ["gpu000000"]

    play(scene)


def test_only_missing_machines_are_made(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1))
        await arm.call("PUT", SET, body(2))
        await arm.call("PATCH", SET, {"sku": {"capacity": 3}})
        assert arm.compute.calls == [("create", f"gpu00000{n}") for n in range(3)]

    play(scene)


def test_a_changed_model_reaches_an_instance_when_it_is_upgraded(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        _, before = await arm.call("GET", f"{INSTANCES}/0")
        await arm.call("PUT", SET, changed(body(2), customData="bmV3"))
        _, found = await arm.call("GET", INSTANCES)
        assert [one["properties"]["latestModelApplied"] for one in found["value"]] == [False, False]
        assert (await arm.call("POST", f"{SET}/manualupgrade", {"instanceIds": ["0"]}))[0] == 202
        _, found = await arm.call("GET", INSTANCES)
        assert [one["properties"]["latestModelApplied"] for one in found["value"]] == [True, False]
        assert found["value"][0]["properties"]["vmId"] == before["properties"]["vmId"]

    play(scene)


def test_a_reimaged_instance_is_the_same_machine_made_anew_with_the_new_custom_data(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        await arm.call("PUT", SET, changed(body(2), customData="bmV3"))
        given: list[dict[str, Any]] = []
        arm.compute.create = given.append  # type: ignore[method-assign]
        assert (await arm.call("POST", f"{INSTANCES}/1/reimage"))[0] == 202
        assert arm.compute.calls[-1] == ("delete", "gpu000001")
        assert [(vm["name"], vm["properties"]["osProfile"]["customData"]) for vm in given] == [("gpu000001", "bmV3")]

    play(scene)


def test_a_redeployed_machine_is_stopped_without_its_local_disks_and_started(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        assert (await arm.call("POST", f"{INSTANCES}/1/redeploy"))[0] == 202
        assert arm.compute.calls[-2:] == [("deallocate", "gpu000001"), ("start", "gpu000001")]

    play(scene)


def test_instances_are_deleted_by_id_and_one_that_is_not_there_is_named(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(3))
        status, answer = await arm.call("POST", f"{SET}/delete", {"instanceIds": ["0", "9"]})
        assert status == 400 and answer["error"]["message"] == (
            "The provided instanceId 9 is not an active Virtual Machine Scale Set VM instanceId."
        )
        assert (await arm.call("POST", f"{SET}/delete", {}))[0] == 400 and len(names(arm)) == 3
        await arm.call("POST", f"{SET}/delete", {"instanceIds": ["0", "2"]})
        assert names(arm) == ["gpu000001"] and (await arm.call("GET", SET))[1]["sku"]["capacity"] == 1
        assert sorted(call for call in arm.compute.calls if call[0] == "delete") == [
            ("delete", "gpu000000"),
            ("delete", "gpu000002"),
        ]

    play(scene)


def test_an_action_on_the_set_reaches_every_instance(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        await arm.call("POST", f"{SET}/poweroff")
        assert sorted(arm.compute.calls[-2:]) == [("power_off", "gpu000000"), ("power_off", "gpu000001")]
        assert (await arm.call("POST", f"{SET}/dance"))[0] == 404

    play(scene)


def test_views_say_what_was_provisioned_and_what_runs(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        await arm.call("POST", f"{INSTANCES}/1/deallocate")
        _, whole = await arm.call("GET", f"{SET}/instanceView")
        assert whole["virtualMachine"]["statusesSummary"] == [{"code": "ProvisioningState/succeeded", "count": 2}]
        _, one = await arm.call("GET", f"{INSTANCES}/1/instanceView")
        assert [s["code"] for s in one["statuses"]] == ["ProvisioningState/succeeded", "PowerState/deallocated"]
        answer = await arm.client.get(INSTANCES, params={"api-version": "2024-11-01", "$expand": "instanceView"})
        views = [one["properties"]["instanceView"] for one in (await answer.json())["value"]]
        assert len({view["placementGroupId"] for view in views}) == 1
        assert [view["statuses"][1]["code"] for view in views] == ["PowerState/running", "PowerState/deallocated"]

    play(scene)


def test_a_lock_keeps_the_instances_and_the_operation_says_so(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        arm.cloud.put(LOCK, {"properties": {"level": "CanNotDelete"}})
        status, answer = await arm.call("DELETE", f"{INSTANCES}/0")
        assert status == 409 and answer["error"]["code"] == "ScopeLocked" and len(names(arm)) == 2

    play(scene)


def test_one_thing_at_a_time_happens_to_a_set_and_its_instances(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1))
        gate, real = threading.Event(), arm.compute.create

        def slow(vm: dict[str, Any]) -> None:
            gate.wait(10)
            real(vm)

        arm.compute.create = slow  # type: ignore[method-assign]
        growing = asyncio.create_task(arm.call("PUT", SET, body(2)))
        while len(names(arm)) < 2:
            await asyncio.sleep(0.01)
        try:
            for method, path in (("PUT", SET), ("POST", f"{INSTANCES}/0/restart"), ("DELETE", f"{INSTANCES}/1")):
                status, answer = await arm.call(method, path, body(3) if method == "PUT" else None)
                assert status == 409 and answer["error"]["code"] == "OperationNotAllowed"
        finally:
            gate.set()
        assert (await growing)[0] == 200

    play(scene)


def test_an_instance_as_a_machine_is_a_whole_vm(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1))
        _, shown = await arm.call("GET", f"{INSTANCES}/0")
        assert shown["properties"]["hardwareProfile"] == {} and shown["sku"] == {"name": "Standard_ND96isr_H100_v5"}
        node = as_node(machines(arm.cloud)[0])
        assert node["name"] == "gpu000000" and node["id"] == f"{INSTANCES}/0" and TRAIN in str(node["identity"])
        assert node["properties"]["hardwareProfile"] == {"vmSize": "Standard_ND96isr_H100_v5"}

    play(scene)


def test_the_metadata_service_tells_the_placement_group(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        told = []
        for address in ("10.0.1.4", "10.0.1.5"):
            found = find_vm(arm.cloud, address)
            assert found is not None
            told.append(instance_document(arm.cloud, found)["compute"]["placementGroupId"])
        assert len(set(told)) == 1 and told[0] == placement_group(arm.cloud, machines(arm.cloud)[0])

    play(scene)


def test_what_a_program_declares_reads_back_unchanged_and_capacity_is_an_update(tmp_path: Path) -> None:
    row = find("azure-native:compute:VirtualMachineScaleSet")
    assert row is not None
    nic = {
        "name": "primary",
        "primary": True,
        "enableAcceleratedNetworking": True,
        "ipConfigurations": [{"name": "primary", "primary": True, "subnet": {"id": f"{VNET}/subnets/nodes"}}],
    }
    system = {"computerNamePrefix": "gpu", "adminUsername": "azureuser", "customData": "aGVsbG8="}
    inputs = {
        "resourceGroupName": GROUP.rsplit("/", 1)[1],
        "vmScaleSetName": "gpu",
        "location": "eastus",
        "sku": {"name": "Standard_ND96isr_H100_v5", "tier": "Standard", "capacity": 2},
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [TRAIN]},
        "orchestrationMode": "Uniform",
        "singlePlacementGroup": True,
        "overprovision": False,
        "platformFaultDomainCount": 1,
        "upgradePolicy": {"mode": "Manual"},
        "virtualMachineProfile": {
            "osProfile": system,
            "storageProfile": {"imageReference": {"sku": "2404"}},
            "networkProfile": {"networkInterfaceConfigurations": [nic]},
        },
        "tags": {"a": "b"},
    }
    cloud = Arm(tmp_path).cloud
    cloud.put(SET, to_arm(row, inputs))
    read = cloud.get(SET)
    assert read is not None and drifted(inputs, from_arm(read)) == inputs
    more = {**inputs, "sku": {**inputs["sku"], "capacity": 3}}  # type: ignore[dict-item]
    assert [(c.path, c.kind, c.replaces) for c in changes(row, inputs, more, [])] == [("sku.capacity", "UPDATE", False)]
    other = {**inputs, "virtualMachineProfile": {"osProfile": {**system, "customData": "bmV3"}}}
    assert not any(c.replaces for c in changes(row, inputs, other, []))
    assert {c.path for c in changes(row, inputs, other, [])} >= {"virtualMachineProfile.osProfile.customData"}
