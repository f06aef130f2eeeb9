"""Uniform scale sets: a capacity becomes instances with ids, names and addresses, and ends with them."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.arm.compute import ComputeError
from sandbox.cloud.machines import as_node, machines
from sandbox.identity.instance import find_vm, instance_document
from tests.shared import small_arm
from tests.shared.small_arm import SET, TRAIN, VNET, Arm, body, names


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Arm], Awaitable[None]]], None]:
    return lambda scene: small_arm.play(tmp_path, scene)


def test_a_capacity_becomes_that_many_named_machines_with_addresses(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        assert (await arm.call("PUT", SET, body(2)))[0] == 201
        assert names(arm) == ["gpu000000", "gpu000001"]
        _, found = await arm.call("GET", f"{SET}/virtualMachines")
        assert [(v["instanceId"], v["name"]) for v in found["value"]] == [("0", "gpu_0"), ("1", "gpu_1")]
        _, nics = await arm.call("GET", f"{SET}/networkInterfaces")
        assert [n["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"] for n in nics["value"]] == [
            "10.0.1.4",
            "10.0.1.5",
        ]
        assert nics["value"][1]["properties"]["virtualMachine"]["id"] == f"{SET}/virtualMachines/1"

    play(scene)


def test_the_machines_boot_with_the_sets_custom_data_which_is_never_answered(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given: list[dict[str, Any]] = []
        arm.compute.create = given.append  # type: ignore[method-assign]
        await arm.call("PUT", SET, body(1))
        assert given[0]["name"] == "gpu000000" and given[0]["properties"]["osProfile"]["customData"] == "aGVsbG8="
        for path in (SET, f"{SET}/virtualMachines/0"):
            assert "aGVsbG8" not in str(await arm.call("GET", path))

    play(scene)


def test_more_capacity_makes_only_what_is_missing_and_less_takes_the_last(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        ids = {m["properties"]["vmId"] for m in machines(arm.cloud)}
        await arm.call("PUT", SET, body(3))
        assert ids < {m["properties"]["vmId"] for m in machines(arm.cloud)}
        await arm.call("PUT", SET, body(1))
        assert names(arm) == ["gpu000000"]
        assert [c for c in arm.compute.calls if c[0] == "delete"] == [("delete", "gpu000001"), ("delete", "gpu000002")]

    play(scene)


def test_an_instance_that_is_deleted_lowers_the_capacity_and_its_id_does_not_come_back(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        await arm.call("DELETE", f"{SET}/virtualMachines/0")
        assert (await arm.call("GET", SET))[1]["sku"]["capacity"] == 1
        await arm.call("PUT", SET, body(2))
        assert names(arm) == ["gpu000001", "gpu000002"]

    play(scene)


def test_an_instance_is_restarted_and_deallocated_like_a_vm(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1))
        assert (await arm.call("POST", f"{SET}/virtualMachines/0/deallocate"))[0] == 202
        assert arm.compute.calls[-1] == ("deallocate", "gpu000000")

    play(scene)


def test_one_that_does_not_boot_fails_the_set_and_the_next_put_tries_again(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        real = arm.compute.create

        def fails(vm: dict[str, Any]) -> None:
            if vm["name"] == "gpu000001":
                raise ComputeError("AllocationFailed", "no more of these")
            real(vm)

        arm.compute.create = fails  # type: ignore[method-assign]
        status, error = await arm.call("PUT", SET, body(2))
        assert status == 500 and error["code"] == "AllocationFailed"
        assert (await arm.call("GET", SET))[1]["properties"]["provisioningState"] == "Failed"
        arm.compute.create = real  # type: ignore[method-assign]
        assert (await arm.call("PUT", SET, body(2)))[0] == 200 and names(arm) == ["gpu000000", "gpu000001"]

    play(scene)


def test_the_metadata_service_knows_an_instance_by_its_address(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        found = find_vm(arm.cloud, "10.0.1.5")
        assert found is not None
        compute = instance_document(arm.cloud, found)["compute"]
        assert (compute["name"], compute["vmScaleSetName"], compute["vmSize"]) == (
            "gpu_1",
            "gpu",
            "Standard_ND96isr_H100_v5",
        )
        assert list(found["identity"]["userAssignedIdentities"]) == [TRAIN]

    play(scene)


def test_a_set_that_goes_takes_its_machines_and_frees_the_subnet(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(2))
        status, answer = await arm.call("DELETE", f"{VNET}/subnets/nodes")
        assert status == 400 and answer["error"]["code"] == "InUseSubnetCannotBeDeleted"
        await arm.call("DELETE", SET)
        assert machines(arm.cloud) == [] and (await arm.call("DELETE", f"{VNET}/subnets/nodes"))[0] == 200

    play(scene)


def test_machines_that_are_not_to_boot_are_only_declared(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, {**body(2), "tags": {"sandbox-boot": "off"}})
        assert names(arm) == ["gpu000000", "gpu000001"] and arm.compute.calls == []

    play(scene)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (body(1, orchestrationMode="Flexible"), "OperationNotAllowed"),
        (body(301), "OperationNotAllowed"),
        ({**body(1), "sku": {"name": "Standard_ND1", "capacity": 1}}, "SkuNotAvailable"),
        (body(1, virtualMachineProfile={}), "InvalidParameter"),
        (body(1, upgradePolicy=None), "InvalidParameter"),
        (body(-1), "InvalidParameter"),
        (
            body(
                1,
                virtualMachineProfile={
                    **body(1)["properties"]["virtualMachineProfile"],
                    "osProfile": {"customData": "a" * 90_000},
                },
            ),
            "InvalidParameter",
        ),
    ],
    ids=["flexible", "301", "size", "no profile", "no policy", "capacity", "customData"],
)
def test_what_azure_refuses_is_refused(play: Any, given: Any, code: str) -> None:
    async def scene(arm: Arm) -> None:
        status, answer = await arm.call("PUT", SET, given)
        assert status >= 400 and answer["error"]["code"] == code and machines(arm.cloud) == []

    play(scene)


def test_one_placement_group_cannot_be_had_afterwards(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        await arm.call("PUT", SET, body(1, singlePlacementGroup=False))
        assert (await arm.call("PUT", SET, body(1)))[0] == 400

    play(scene)


def test_a_machine_is_seen_under_its_nodes_name() -> None:
    vm = {"type": "Microsoft.Compute/virtualMachines", "name": "gpu-0", "properties": {}}
    assert as_node(vm)["name"] == "gpu-0"
