"""The second day under the real engine: drift is seen, a machine is replaced, and the end
stops at the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from feedline.contract import Contract
from feedline.plans.cluster import destroying, replacing
from scripts.arguments import Arguments
from scripts.arm import Arm
from scripts.drift import look
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


def drift(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch, read: Any) -> tuple[int, dict[str, Any]]:
    """Run `fab cluster.drift --json` and return its exit code and what it said."""
    for name, value in engine.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FEEDLINE_HOME", str(folder))
    code = look(Arguments(stack="sandbox", json=True))
    return code, json.loads(read().out)


def test_what_somebody_changed_or_deleted_by_hand_has_drifted_until_the_next_up(
    up: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = Arm.sandbox(up.environment)
    code, said = drift(up, tmp_path, monkeypatch, capsys.readouterr)
    assert code == 0 and said["drifted"] == [] and said["looked"] > 50
    body = arm.get(LAKE)
    body["properties"]["allowSharedKeyAccess"] = True
    arm.change("PUT", LAKE, body)
    alerts = LAKE.split("-lake/")[0] + "/providers/Microsoft.Insights/actionGroups"
    people = next(iter(arm.list(alerts)))
    arm.change("DELETE", people["id"])
    code, said = drift(up, tmp_path, monkeypatch, capsys.readouterr)
    assert code == 2 and said["drifted"] == [
        {"how": "gone", "type": "monitor:ActionGroup", "name": "observability-people", "keys": []},
        {"how": "changed", "type": "storage:StorageAccount", "name": "lake-account", "keys": ["allowSharedKeyAccess"]},
    ]
    kept = json.loads((Path(said["evidence"]) / "drift.json").read_text())
    assert kept["drifted"] == said["drifted"]
    up.pulumi("up", *STACK, "--yes", "--skip-preview", "--refresh")
    code, said = drift(up, tmp_path, monkeypatch, capsys.readouterr)
    assert code == 0 and arm.get(LAKE)["properties"]["allowSharedKeyAccess"] is False


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
