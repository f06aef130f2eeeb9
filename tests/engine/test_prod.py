"""The production example, whole: made, unchanged, refreshed, parked, destroyed down to the data, and made again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from feedline.contract import Contract
from tests.engine.conftest import CHECKOUT, Engine
from tests.engine.test_environments import config
from tests.engine.test_policies import violated

pytestmark = pytest.mark.timeout(180)
STACK = ("--stack", "prod")
DATA = {
    "lake-account",
    "lake-blob-service",
    "lake-group",
    "lake-lifecycle",
    "lake-lock",
    "lake-models-worm",
    *(f"lake-{container}" for container in ("raw", "training-data", "checkpoints", "models", "artifacts")),
    "observability-workspace",
}


@pytest.fixture(scope="module")
def up(engine: Engine) -> Engine:
    """The stack with eight nodes that are declared and not started, made once under the pack."""
    engine.pulumi("stack", "init", "prod")
    flags = (*config(engine, "prod", "nodes.boot=false"), "--policy-pack", "policies")
    engine.pulumi("up", *flags, "--policy-pack-config", "policies/config/prod.json", "--yes", "--skip-preview")
    return engine


def resources(engine: Engine) -> list[dict[str, Any]]:
    found = json.loads(engine.pulumi("stack", "export", *STACK))["deployment"].get("resources", [])
    return [r for r in found if r["custom"] and r["type"].startswith("azure-native:")]


def names(engine: Engine) -> set[str]:
    return {r["urn"].rsplit("::", 1)[1] for r in resources(engine)}


def test_whatever_lies_below_the_lakes_lock_is_protected_and_nothing_else(up: Engine) -> None:
    kept = {r["urn"].rsplit("::", 1)[1] for r in resources(up) if r.get("protect")}
    assert kept >= DATA and not {name for name in kept if name.startswith(("nodes", "network", "ingest-0", "cluster"))}
    identities = {name for name in names(up) if name.startswith("identities-")}
    assert identities <= kept  # Azure would not let them be deleted below the lock


def test_a_second_up_is_unchanged_and_a_refresh_is_clean(up: Engine) -> None:
    flags = config(up, "prod", "nodes.boot=false")
    up.pulumi("up", *flags, "--yes", "--skip-preview", "--expect-no-changes")
    up.pulumi("refresh", *flags, "--yes", "--expect-no-changes")


def test_the_contract_names_the_scale_set_whose_instances_are_the_nodes(up: Engine) -> None:
    contract = Contract.loads(up.pulumi("stack", "output", "contract", "--json", *STACK))
    assert [n.name for n in contract.nodes] == ["ingest-0"] and contract.ssh.via == "jump"
    (gpu,) = contract.scale_sets
    assert gpu.resource_id.endswith("/virtualMachineScaleSets/vmss-feedline-prod-gpu") and gpu.role == "train"


def test_a_stack_that_exists_is_judged_from_its_export_by_the_engine_and_without_it(up: Engine, tmp_path: Path) -> None:
    export = up.pulumi("stack", "export", *STACK)
    opened = export.replace('"allowSharedKeyAccess": false', '"allowSharedKeyAccess": true')
    for name, text, due in (("kept.json", export, 0), ("opened.json", opened, 2)):
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "policies.over", "--json"],
            cwd=CHECKOUT,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        found = {(f["rule"], f["resource"]) for f in json.loads(done.stdout) if f["level"] == "mandatory"}
        assert done.returncode == due, done.stdout + done.stderr
        refused = {("storage-no-shared-key", "lake-account"), ("storage-keys-dated", "lake-account")} if due else set()
        assert found == refused
        argv = ("policy", "analyze", "--file", str(tmp_path / name), "--policy-pack", "policies")
        assert violated(up.pulumi(*argv, code=None if due else 0)) == refused


def test_a_changed_label_replaces_no_data(up: Engine) -> None:
    changes = ("nodes.boot=false", "lake.classification=internal", "lake.redundancy=LRS", "nodes.admin_user=other")
    said = up.pulumi("preview", *config(up, "prod", *changes), "--json")
    steps = {s["urn"].rsplit("::", 1)[1]: s["op"] for s in json.loads(said[said.index("{") :])["steps"]}
    assert {op for name, op in steps.items() if name in DATA} <= {"same", "update"}


def test_parking_takes_the_nodes_and_leaves_the_lake(up: Engine) -> None:
    said = up.pulumi("preview", *config(up, "prod", "nodes.count=0"), "--diff")
    assert "parked: no GPU nodes" in said and "delete" not in said


def test_destroy_stops_at_the_data_and_the_next_up_finds_it(up: Engine) -> None:
    said = up.pulumi("destroy", *STACK, "--yes", "--skip-preview", code=None)
    assert "cannot be deleted" in said and "protected" in said
    up.pulumi("destroy", *STACK, "--yes", "--skip-preview", "--exclude-protected")
    left = names(up)
    assert left >= DATA and not {name for name in left if name.startswith(("nodes", "network", "ingest-0"))}
    up.pulumi("up", *config(up, "prod", "nodes.boot=false"), "--yes", "--skip-preview")
    assert names(up) > left
