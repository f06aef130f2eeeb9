"""The second day under the real engine: a machine is replaced, drift is told from what is not applied yet, and the end
stops at the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from feedline.contract import Contract
from feedline.plans.cluster import destroying, replacing
from scripts.arm import Arm
from tests.engine.conftest import Engine

pytestmark = pytest.mark.timeout(180)
STACK = ("--stack", "sandbox")
LAKE = (
    "/subscriptions/00000000-0000-0000-0000-0000feed11e0/resourceGroups/rg-feedline-sandbox-lake"
    "/providers/Microsoft.Storage/storageAccounts/feedlinesandbox"
)


@pytest.fixture(scope="module")
def up(engine: Engine) -> Iterator[Engine]:
    """The sandbox's stack, made once."""
    engine.pulumi("stack", "init", "sandbox")
    engine.pulumi("up", *STACK, "--yes", "--skip-preview")
    yield engine


def contract(engine: Engine) -> Contract:
    return Contract.loads(engine.pulumi("stack", "output", "contract", "--json", *STACK))


def test_one_machine_is_replaced_and_keeps_its_name_and_address(up: Engine) -> None:
    before = contract(up)
    (step,) = replacing("sandbox", before.node("gpu-1"), "2024-11-01")
    up.pulumi(*step.argv[1:-3])  # without what the fixture adds itself
    after = contract(up)
    old, new = before.node("gpu-1"), after.node("gpu-1")
    assert old.vm_id != new.vm_id and (old.name, old.address, old.size) == (new.name, new.address, new.size)
    assert [n for n in before.nodes if n.name != "gpu-1"] == [n for n in after.nodes if n.name != "gpu-1"]
    up.pulumi("up", *STACK, "--yes", "--skip-preview", "--expect-no-changes")
    machine = Arm.sandbox(up.environment).get(new.resource_id)
    assert machine["properties"]["vmId"] == new.vm_id


def test_the_end_of_the_sandboxes_cluster_leaves_nothing(up: Engine) -> None:
    step = destroying("sandbox")
    up.pulumi(*step.argv[1:-3])
    found: list[Any] = json.loads(up.pulumi("stack", "export", *STACK))["deployment"].get("resources", [])
    assert not [r for r in found if r["custom"] and not r["type"].startswith("pulumi:")]
    assert Arm.sandbox(up.environment).get(LAKE) is None
