"""Named faults: injected, listed, reverted, and kept over a restart."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sandbox.faults import FAULTS, FaultError, Faults, World
from sandbox.nodes import move_cache

GROUP = "/subscriptions/s/resourceGroups/rg/providers"
ACCOUNT = f"{GROUP}/Microsoft.Storage/storageAccounts/lake"


def container(name: str) -> str:
    return f"{ACCOUNT}/blobServices/default/containers/{name}"


@dataclass
class FakeCloud:
    """Resources by id, with the one attribute a fault sets."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    rbac_delay_s: float = 3.0

    def list(self, type: str | None = None) -> list[dict[str, Any]]:
        return [r for r in self.resources.values() if r["type"] == type]

    def put(self, rid: str, body: dict[str, Any]) -> dict[str, Any]:
        self.resources[rid] = {"id": rid, "name": rid.rsplit("/", 1)[1], **body}
        return self.resources[rid]

    def delete(self, rid: str) -> bool:
        return self.resources.pop(rid, None) is not None


@dataclass
class FakeStore:
    """Blobs in memory."""

    blobs: dict[str, bytes]

    def store_list(self, account: str, container: str) -> list[str]:
        return list(self.blobs)

    def store_delete(self, account: str, container: str, name: str) -> bytes:
        return self.blobs.pop(name)

    def store_put(self, account: str, container: str, name: str, content: bytes) -> None:
        self.blobs[name] = content


@dataclass
class FakeNode:
    """A node that answers with what it is told to."""

    answer: CompletedProcess[bytes]
    orders: list[dict[str, Any]] = field(default_factory=list)

    def node(self, name: str) -> "FakeNode":
        if name != "gpu-0":
            raise KeyError(f"no node {name}; there are: gpu-0")
        return self

    def execute(self, argv: list[str], stdin: bytes, within: float) -> CompletedProcess[bytes]:
        assert b"def moved" in stdin
        self.orders.append(json.loads(argv[2]))
        return self.answer


@pytest.fixture
def world(tmp_path: Path) -> World:
    cloud = FakeCloud()
    for name in ("training-data", "checkpoints"):
        cloud.put(container(name), {"type": "Microsoft.Storage/storageAccounts/blobServices/containers"})
    identity = f"{GROUP}/Microsoft.ManagedIdentity/userAssignedIdentities/id-feedline-train"
    cloud.put(
        identity, {"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "properties": {"principalId": "p1"}}
    )
    for number, (name, principal) in enumerate(
        [("training-data", "p1"), ("training-data", "p2"), ("checkpoints", "p1")]
    ):
        rid = f"{container(name)}/providers/Microsoft.Authorization/roleAssignments/{number}"
        body = {"principalId": principal, "scope": container(name)}
        cloud.put(rid, {"type": "Microsoft.Authorization/roleAssignments", "properties": body})
    node = FakeNode(CompletedProcess([], 0, b'[{"config": "/etc/a.yaml"}]', b""))
    return World(cloud, node, FakeStore({"a": b"1", "b": b"2", "c": b"3"}), tmp_path / "kept")


@pytest.fixture
def faults(world: World, tmp_path: Path) -> Faults:
    return Faults(world, tmp_path / "faults.json")


def test_a_role_is_removed_only_from_that_identity_at_that_container_and_comes_back(
    world: World, faults: Faults
) -> None:
    before = dict(world.cloud.resources)
    faults.inject("role-removed", ["train", "training-data"])
    gone = set(before) - set(world.cloud.resources)
    assert [rid.rsplit("/", 1)[1] for rid in gone] == ["0"]
    faults.revert("role-removed")
    assert world.cloud.resources.keys() == before.keys()


def test_an_identity_without_a_role_there_is_said_to_have_none(faults: Faults) -> None:
    with pytest.raises(FaultError, match="no role assignment at container models; it has some at: checkpoints"):
        faults.inject("role-removed", ["train", "models"])
    assert faults.active() == []


def test_a_lost_blob_comes_back_as_it_was(world: World, faults: Faults) -> None:
    faults.inject("blob-lost", ["training-data", "c"])
    assert sorted(world.store.blobs) == ["a", "b"]
    faults.revert("blob-lost")
    assert world.store.blobs["c"] == b"3"
    assert list(world.folder.iterdir()) == []


def test_a_blob_is_chosen_when_none_is_named_and_a_wrong_name_is_refused(world: World, faults: Faults) -> None:
    with pytest.raises(FaultError, match="holds no blob z"):
        faults.inject("blob-lost", ["training-data", "z"])
    faults.inject("blob-lost", ["training-data"])
    assert len(world.store.blobs) == 2


def test_the_delay_is_set_again_after_a_restart_and_goes_back_to_what_it_was(world: World, tmp_path: Path) -> None:
    Faults(world, tmp_path / "faults.json").inject("rbac-delay", ["120"])
    world.cloud.rbac_delay_s = 3.0  # the restarted controller's default
    after = Faults(world, tmp_path / "faults.json")
    after.resume()
    assert world.cloud.rbac_delay_s == 120
    assert [fault["name"] for fault in after.active()] == ["rbac-delay"]
    after.revert("rbac-delay")
    assert world.cloud.rbac_delay_s == 3.0
    assert after.active() == []


def test_the_cache_fault_remembers_what_the_node_said_and_hands_it_back(world: World, faults: Faults) -> None:
    faults.inject("cache-on-os-disk", ["gpu-0"])
    faults.revert("cache-on-os-disk")
    assert world.nodes.orders == [{"do": "move"}, {"do": "restore", "memory": [{"config": "/etc/a.yaml"}]}]


def test_a_nodes_own_words_reach_the_user_when_it_cannot(world: World, faults: Faults) -> None:
    world.nodes.answer = CompletedProcess([], 1, b"", b"no blobfuse2 mount runs here\n")
    with pytest.raises(FaultError, match="node gpu-0: no blobfuse2 mount runs here"):
        faults.inject("cache-on-os-disk", ["gpu-0"])
    with pytest.raises(FaultError, match="there are: gpu-0"):
        faults.inject("cache-on-os-disk", ["gpu-9"])


def test_the_same_fault_twice_an_unknown_one_and_wrong_arguments_are_refused(faults: Faults) -> None:
    faults.inject("rbac-delay", ["5"])
    with pytest.raises(FaultError, match="active already"):
        faults.inject("rbac-delay", ["6"])
    with pytest.raises(FaultError, match="there is no fault rain"):
        faults.inject("rain", [])
    with pytest.raises(FaultError, match="usage: fault role-removed IDENTITY CONTAINER"):
        faults.inject("role-removed", ["train"])


def test_every_fault_has_a_line_of_documentation() -> None:
    assert all(fault.doc and name == fault.usage.split()[0] for name, fault in FAULTS.items())


def test_only_the_cache_path_of_a_configuration_moves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(move_cache, "TARGET", tmp_path)
    text = (
        "file_cache:\n  path: /mnt/resource/blobfuse2cache/training-data\n  timeout-sec: 9\nazstorage:\n  path: keep\n"
    )
    assert move_cache.moved(text) == (
        f"file_cache:\n  path: {tmp_path}/training-data\n  timeout-sec: 9\nazstorage:\n  path: keep\n"
    )
    assert (tmp_path / "training-data").is_dir()


def test_an_option_is_found_in_both_spellings() -> None:
    assert move_cache.option(["mount", "--config-file=/a"], "--config-file") == "/a"
    assert move_cache.option(["mount", "--config-file", "/b"], "--config-file") == "/b"
    assert move_cache.option(["mount"], "--config-file") is None
