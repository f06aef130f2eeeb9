"""Facts in, plan out: every JSON file below tests/cases is one case. A new case needs no Python.

`says` = what it shows; `facts` = what differs from a node in order; then one of `steps`, `nothing_because`, `refused`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from feedline.errors import OperationError
from feedline.facts import Disk, MountFacts, Nvme
from feedline.plan import Plan, Step
from feedline.plans import cache, nvme

CASES = Path(__file__).parents[2] / "cases"
DISK: dict[str, Any] = {
    "local": True, "node": True, "bytes": 0, "signature": "", "label": "", "mounted": "", "holds_root": False,
}  # fmt: skip
NVME: dict[str, Any] = {
    "mounted_source": "", "mounted_type": "", "mountpoint": "protected", "free_bytes": 0, "unit_current": True,
    "unit_enabled": True, "tool_current": True, "bundle": "/opt/feedline/x", "attributes": True,
}  # fmt: skip


MOUNT: dict[str, Any] = {
    "name": "training-data", "path": "/mnt/training-data", "mounted": True, "read_only": True, "live": True,
    "main_pid": 42, "started": "7", "unit_active": "active", "config_path": "/etc/feedline/training-data.yaml",
    "config_sha256": "c1", "cache_path": "/mnt/resource/blobfuse2cache/training-data", "cache_device": "7:3",
    "os_device": "7:2", "boot_id": "boot", "unit_sha256": "u1", "loaded_config": "c1", "loaded_unit": "u1",
    "enabled": True,
}  # fmt: skip
WANTED = cache.Wanted("training-data", "/mnt/training-data", "configuration", "unit", "c1", "u1")


def cache_plan(case: dict[str, Any]) -> Plan:
    return cache.plan(
        [WANTED],
        [MountFacts(**{**MOUNT, **case["facts"]})],
        nvme_mounted=case.get("nvme_mounted", True),
        fuse_conf=case.get("fuse_conf", "user_allow_other\n"),
        folders=[WANTED.path] if case.get("folder", True) else [],
        reload={WANTED.name: case["reload"]} if "reload" in case else {},
    )


def nvme_plan(case: dict[str, Any]) -> Plan:
    disks = tuple(Disk(**{**DISK, **disk}) for disk in case["facts"].pop("disks"))
    return nvme.plan(Nvme(**{**NVME, **case["facts"], "disks": disks}), wipe=case.get("wipe", ()))


PLANNERS: dict[str, Callable[[dict[str, Any]], Plan]] = {"cache": cache_plan, "nvme": nvme_plan}


def short(step: Step) -> str:
    """A step in one line: a command as typed, else what is written or made, with its mode."""
    if step.argv:
        return " ".join(step.argv)
    return f"{'folder' if step.content is None else 'write'} {step.path} {step.mode:o}"


def files(noun: str) -> list[Any]:
    found = sorted((CASES / noun).glob("*.json"))
    assert found, f"no cases below {CASES / noun}"
    return [pytest.param(noun, path, id=f"{noun}-{path.stem}") for path in found]


@pytest.mark.parametrize(("noun", "path"), [case for noun in PLANNERS for case in files(noun)])
def test_these_facts_give_this_plan(noun: str, path: Path) -> None:
    case = json.loads(path.read_text())
    wanted = {key for key in ("steps", "nothing_because", "refused") if key in case}
    assert len(wanted) == 1, f"{path.name}: exactly one of steps, nothing_because, refused"
    if "refused" in case:
        with pytest.raises(OperationError) as refused:
            PLANNERS[noun](case)
        assert case["refused"] in str(refused.value) and refused.value.hint
        return
    made = PLANNERS[noun](case)
    assert [short(step) for step in made.steps] == case.get("steps", [])
    assert case.get("nothing_because", "") in made.nothing_because
    assert list(made.destroys) == case.get("destroys", [])
