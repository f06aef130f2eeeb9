"""What a subscription may have: quota, offers, capacity and rights refuse in Azure's words, and can change."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud import Refusal
from sandbox.cloud.subscription import Facts, may, name_available, read, skus, usages
from tests.shared import small_arm
from tests.shared.small_arm import GROUP, SET, VNET, Arm, body

H100, FAMILY = "Standard_ND96isr_H100_v5", "standardNDSH100v5Family"


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Arm], Awaitable[None]]], None]:
    return lambda scene: small_arm.play(tmp_path, scene)


def given(arm: Arm, **facts: Any) -> None:
    """Say what the subscription may have from now on."""
    arm.cloud._path.with_name("subscription.json").write_text(json.dumps(facts))


def test_more_cores_than_the_quota_are_refused_with_the_arithmetic(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, cores={FAMILY: 200})
        assert (await arm.call("PUT", SET, body(2)))[0] == 201
        status, answer = await arm.call("PUT", SET, body(3))
        assert status == 409 and answer["error"]["code"] == "OperationNotAllowed"
        assert "Current Limit: 200, Current Usage: 192, Additional Required: 96" in answer["error"]["message"]

    play(scene)


def test_a_size_that_is_not_offered_is_refused_before_anything_is_made(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, not_offered=[H100])
        status, answer = await arm.call("PUT", SET, body(1))
        assert status == 409 and answer["error"]["code"] == "SkuNotAvailable" and arm.cloud.get(SET) is None

    play(scene)


def test_a_region_that_runs_out_leaves_the_rest_and_a_second_put_makes_only_the_missing(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, left={H100: 2})
        status, error = await arm.call("PUT", SET, body(3))
        assert status == 500 and error["code"] == "AllocationFailed"
        made = [name for call, name in arm.compute.calls if call == "create"]
        assert len(made) == 2
        given(arm)
        assert (await arm.call("PUT", SET, body(3)))[0] == 200
        assert sorted(name for call, name in arm.compute.calls if call == "create") == [
            f"gpu00000{n}" for n in range(3)
        ]

    play(scene)


def test_without_rights_nothing_is_written_and_everything_can_be_read(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, reader=True)
        status, answer = await arm.call("PUT", SET, body(1))
        assert status == 403 and answer["error"]["code"] == "AuthorizationFailed"
        assert "'Microsoft.Compute/virtualMachineScaleSets/write'" in answer["error"]["message"]
        assert (await arm.call("GET", GROUP))[0] == 200
        free = "/subscriptions/s/providers/Microsoft.Storage/checkNameAvailability"
        assert await arm.call("POST", free, {"name": "free01"}) == (200, {"nameAvailable": True})

    play(scene)


def test_a_region_counts_its_resources_and_tells_which_providers_are_registered(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, limits={"VirtualNetworks": 1}, unregistered=["Microsoft.Insights"])
        await arm.call("PUT", SET, body(2))
        _, answer = await arm.call("GET", "/subscriptions/s/providers/Microsoft.Network/locations/eastus/usages")
        found = {u["name"]["value"]: (u["currentValue"], u["limit"]) for u in answer["value"]}
        assert found["VirtualNetworks"] == (1, 1) and found["NetworkInterfaces"][0] == 2
        _, answer = await arm.call("GET", "/subscriptions/s/providers")
        states = {p["namespace"]: p["registrationState"] for p in answer["value"]}
        assert states["Microsoft.Insights"] == "NotRegistered" and states["Microsoft.Compute"] == "Registered"

    play(scene)


def test_what_is_asked_before_buying_is_answered(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, cores={FAMILY: 960}, not_offered=["Standard_D96s_v5"])
        await arm.call("PUT", SET, body(2))
        found = {u["name"]["value"]: (u["currentValue"], u["limit"]) for u in usages(arm.cloud, "eastus")}
        assert found[FAMILY] == (192, 960)
        withheld = [s["name"] for s in skus(arm.cloud, "eastus") if s["restrictions"]]
        assert withheld == ["Standard_D96s_v5"]
        status, answer = await arm.call("GET", "/subscriptions/s/providers/Microsoft.Compute/locations/eastus/usages")
        assert status == 200 and FAMILY in str(answer)
        assert name_available(arm.cloud, "free01") == {"nameAvailable": True}

    play(scene)


def test_a_second_write_on_a_network_at_work_is_refused(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        given(arm, network_s=0.3)
        answers = await asyncio.gather(
            *(
                arm.call("PUT", f"{VNET}/subnets/s{n}", {"properties": {"addressPrefix": f"10.0.{n + 10}.0/24"}})
                for n in range(2)
            )
        )
        assert sorted(status for status, _ in answers) == [201, 429]
        assert "AnotherOperationInProgress" in str(answers)

    play(scene)


def test_the_name_of_a_deleted_vault_is_still_taken(play: Any) -> None:
    async def scene(arm: Arm) -> None:
        vault = f"{GROUP}/providers/Microsoft.KeyVault/vaults/kv-keys"
        given_body = {"location": "eastus", "properties": {"enablePurgeProtection": True}}
        assert (await arm.call("PUT", vault, given_body))[0] == 201
        weaker = {"location": "eastus", "properties": {"enablePurgeProtection": False}}
        assert (await arm.call("PUT", vault, weaker))[0] == 400
        await arm.call("DELETE", vault)
        status, answer = await arm.call("PUT", vault, given_body)
        assert status == 409 and answer["error"]["code"] == "ConflictError"
        assert (await arm.call("PUT", vault, {**given_body, "properties": {"createMode": "recover"}}))[0] == 201

    play(scene)


def test_a_fact_nobody_knows_is_a_mistake(tmp_path: Any) -> None:
    (tmp_path / "s.json").write_text('{"core": {}}')
    with pytest.raises(ValueError, match="core unknown"):
        read(tmp_path / "s.json")


def test_an_action_without_rights_is_named_as_such() -> None:
    may(Facts(), "DELETE", GROUP)
    with pytest.raises(Refusal, match="resourceGroups/delete"):
        may(Facts(reader=True), "DELETE", GROUP)
