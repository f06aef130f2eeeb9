"""A small cluster that answers from memory: the tests of the runbook's own side."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from rich.console import Console

from feedline.contract import Contract
from feedline.errors import FeedlineError
from scripts.arguments import Arguments
from scripts.evidence import Evidence
from scripts.places import Places
from scripts.runner import Result
from scripts.screen import Screen
from scripts.session import Session
from scripts.state import State

CONTRACT = {
    "version": 1,
    "environment": "sandbox",
    "cloud": "sandbox",
    "cluster": "small",
    "location": "eastus",
    "subscription_id": "0",
    "accounts": [
        {
            "name": "lake",
            "resource_id": "/lake",
            "hns": True,
            "protocol": "blob",
            "blob_endpoint": "https://lake.blob.core.windows.net",
            "dfs_endpoint": "https://lake.dfs.core.windows.net",
            "classification": "internal",
            "containers": ["training-data"],
        }
    ],
    "identities": [
        {"name": n, "client_id": n, "principal_id": n, "resource_id": n, "grants": []} for n in ("train", "ingest")
    ],
    "nodes": [
        {
            "name": name,
            "role": role,
            "identity": role,
            "address": address,
            "size": "S",
            "resource_id": name,
            "vm_id": f"vm-{name}",
        }
        for name, role, address in (
            ("ingest-0", "ingest", "10.0.0.4"),
            ("gpu-0", "train", "10.0.1.4"),
            ("gpu-1", "train", "10.0.1.5"),
        )
    ],
    "ssh": {"user": "azureuser", "via": "direct", "jump": None, "command": None},
    "mounts": [
        {
            "name": "training-data",
            "path": "/mnt/training-data",
            "account": "lake",
            "container": "training-data",
            "identity": "train",
            "role": "train",
            "read_only": True,
            "mode": "preload",
            "cache": "/mnt/resource/blobfuse2cache/training-data",
        }
    ],
    "workload": {
        "name": "w",
        "record_bytes": 100,
        "batch": 1,
        "compute_s": 1.0,
        "accelerators": 8,
        "au_target": 0.9,
        "headroom": 1.1,
        "loaders": 1,
        "dataset": "shards-v1",
        "dataset_bytes": 1000,
        "source": "test",
    },
    "feed_plan": {},
}


def passing(gate: str, node: str) -> dict[str, Any]:
    """A verdict of a gate that passed on a node."""
    return {
        "gate": gate,
        "check": "works",
        "subject": node,
        "status": "PASS",
        "reason": "OK",
        "message": f"{gate} is fine on {node}",
    }


class FakeDoor:
    """Nodes in memory. `plans[verb]` is planned until applied; `verdict` makes a node's verdicts; `failures` raise."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str | None]] = []
        self.facts = {
            name: {
                "vm_id": f"vm-{name}",
                "boot_id": f"boot-{name}",
                "mounts": {"training-data": {"main_pid": 7, "config_sha256": "c", "manifest_digest": "m"}},
            }
            for name in ("ingest-0", "gpu-0", "gpu-1")
        }
        self.plans: dict[str, list[dict[str, Any]]] = {}
        self.verdict: Callable[[str, str], list[dict[str, Any]]] = lambda verb, node: [passing(GATE[verb], node)]
        self.applied: set[tuple[str, str]] = set()
        self.failures: dict[tuple[str, str], FeedlineError] = {}
        self.on_call: Callable[[str, str], None] = lambda verb, node: None
        self.locked: list[str] = []
        self.options: dict[str, Mapping[str, Any]] = {}

    def call(self, node, verb, *, apply, options, progress):
        self.calls.append((node.name, verb, apply))
        self.options[verb] = options
        progress({"text": "working", "done": 1, "total": 2, "unit": "B"})
        facts = copy.deepcopy(self.facts[node.name])
        self.on_call(verb, node.name)
        if (verb, node.name) in self.failures:
            raise self.failures[verb, node.name]
        from feedline.plan import Plan, Step

        planned = [] if (verb, node.name) in self.applied else self.plans.get(verb, [])
        steps = [] if apply else planned
        plan = Plan(tuple(Step.from_dict(s) for s in steps), "" if steps else "it is there")
        if apply:
            self.applied.add((verb, node.name))
            assert apply == Plan(tuple(Step.from_dict(s) for s in planned)).digest
        return Result(
            facts,
            plan.as_dict() if verb in ("nvme", "cache", "ingest", "drain") else None,
            [{"why": "x", "argv": [], "rc": 0, "seconds": 0.1}] if apply else [],
            self.verdict(verb, node.name),
            {"rate": 1} if verb == "validate" else {},
            bool(apply),
        )

    @contextmanager
    def lock(self, node, why, *, take, said):
        self.locked.append(f"{node.name}: {why}")
        yield

    def close(self) -> None:
        pass


GATE = {"facts": "doctor", **{name: name for name in ("access", "ingest", "nvme", "cache", "validate", "drain")}}


class Cluster:
    """A door, a place on disk, and sessions upon them; `read` returns what a person saw of the last one."""

    def __init__(self, folder) -> None:
        self.door, self.places = FakeDoor(), Places(folder, folder)
        self.contract = Contract.parse(copy.deepcopy(CONTRACT))
        self.clock = 1_800_000_000.0
        self.on_sleep: Callable[[], None] = lambda: None

    def session(self, **arguments: Any) -> Session:
        out = io.StringIO()
        console = Console(file=out, width=200, color_system=None)
        given = Arguments(**{"parallel": 1, **arguments})
        session = Session(
            given,
            self.contract,
            self.door,
            Screen(quiet=given.json, out=console, err=console),
            Evidence(self.places.evidence("small"), self.clock),
            State(self.places.state("small")),
            self.places,
        )
        session.evidence.note("contract.json", self.contract.as_dict())
        session.now = lambda: self.clock  # type: ignore[method-assign]
        session.sleep = self.sleep  # type: ignore[method-assign]
        self.read = out.getvalue
        return session

    def sleep(self, seconds: float) -> None:
        self.clock += seconds
        self.on_sleep()

    def verbs(self) -> list[str]:
        """The verbs asked for since the last look, without repetitions by node."""
        found = [verb for _, verb, _ in self.door.calls]
        self.door.calls.clear()
        return [verb for n, verb in enumerate(found) if n == 0 or found[n - 1] != verb]


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)
