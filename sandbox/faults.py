"""Named faults: what each one breaks, and how it is put back. They stay until reverted, over restarts too."""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

MOVE_CACHE = Path(__file__).parent / "nodes" / "move_cache.py"
Memory = Any  # what undoing needs; JSON


class FaultError(ValueError):
    """A fault cannot be injected or reverted; the message says why and what to do."""


class Store(Protocol):
    """The blobs of the sandbox, seen from behind the gateway: nobody's role is asked and nobody is told."""

    def store_list(self, account: str, container: str) -> list[str]: ...
    def store_delete(self, account: str, container: str, name: str) -> bytes: ...
    def store_put(self, account: str, container: str, name: str, content: bytes) -> None: ...


@dataclass(frozen=True)
class World:
    """What faults act on: the cloud, the supervisor of nodes, the blob store, and a folder for what they took away."""

    cloud: Any
    nodes: Any
    store: Store
    folder: Path


@dataclass(frozen=True)
class Fault:
    """A fault's name and arguments as typed, one line about it, how to inject, revert, and resume after a restart."""

    usage: str
    doc: str
    inject: Callable[..., Memory]
    revert: Callable[[World, Memory], None]
    resume: Callable[[World, Memory], None] = lambda world, memory: None

    @property
    def arguments(self) -> list[str]:
        return self.usage.split()[1:]


class Faults:
    """The active faults of one sandbox, kept in a file."""

    def __init__(self, world: World, file: Path) -> None:
        self._world, self._file = world, file
        self._lock = threading.Lock()
        self._active: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}

    def inject(self, name: str, args: list[str]) -> str:
        """Given a fault and its arguments, break it and return one line that says what. Raise FaultError."""
        fault = _known(name)
        optional = sum(a.startswith("[") for a in fault.arguments)
        if not len(fault.arguments) - optional <= len(args) <= len(fault.arguments):
            raise FaultError(f"usage: fault {fault.usage}")
        with self._lock:
            if name in self._active:
                raise FaultError(
                    f"{name} is active already ({' '.join(self._active[name]['args'])}): revert it first (--revert)"
                )
            memory = fault.inject(self._world, *args)
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._active[name] = {"args": args, "since": since, "memory": memory}
            self._save()
        return f"fault {' '.join([name, *args])}: active ({fault.doc})"

    def revert(self, name: str) -> str:
        """Given a fault, put back what it broke and return one line. One that is not active is fine."""
        fault = _known(name)
        with self._lock:
            if name not in self._active:
                return f"fault {name}: was not active"
            fault.revert(self._world, self._active[name]["memory"])
            del self._active[name]
            self._save()
        return f"fault {name}: reverted"

    def resume(self) -> None:
        """After a restart: bring back the part of each active fault that lived in memory only."""
        for name, entry in self._active.items():
            FAULTS[name].resume(self._world, entry["memory"])

    def active(self) -> list[dict[str, Any]]:
        """Return the active faults, without what undoing them needs."""
        return [
            {"name": name, "args": entry["args"], "since": entry["since"]}
            for name, entry in sorted(self._active.items())
        ]

    def _save(self) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self._active))
        part.rename(self._file)


def _known(name: str) -> Fault:
    if name not in FAULTS:
        raise FaultError(f"there is no fault {name}; there are: {', '.join(FAULTS)}")
    return FAULTS[name]


# -- rbac-delay


def _delay_rbac(world: World, seconds: str) -> Memory:
    try:
        delay = float(seconds)
    except ValueError:
        raise FaultError(f"{seconds!r} is not a number of seconds") from None
    before = world.cloud.rbac_delay_s
    world.cloud.rbac_delay_s = delay
    return {"before": before, "delay": delay}


def _undelay_rbac(world: World, memory: Memory) -> None:
    world.cloud.rbac_delay_s = memory["before"]


def _redelay_rbac(world: World, memory: Memory) -> None:
    world.cloud.rbac_delay_s = memory["delay"]


# -- role-removed


def _remove_roles(world: World, identity: str, container: str) -> Memory:
    principal = _principal(world, identity)
    end = f"/containers/{container}".lower()
    assignments = [
        r
        for r in world.cloud.list("Microsoft.Authorization/roleAssignments")
        if r["properties"]["principalId"] == principal
    ]
    here = [r for r in assignments if _scope(r).endswith(end)]
    if not here:
        scopes = ", ".join(sorted(_scope(r).rsplit("/", 1)[-1] for r in assignments)) or "none"
        raise FaultError(
            f"identity {identity} has no role assignment at container {container}; it has some at: {scopes}"
        )
    with _unlocked(world, [assignment["id"] for assignment in here]):
        for assignment in here:
            world.cloud.delete(assignment["id"])
    return {"assignments": here}


@contextlib.contextmanager
def _unlocked(world: World, rids: list[str]) -> Iterator[None]:
    """Lift the locks above these resources while the block runs: a delete lock holds role assignments too, and whoever
    removes one in Azure has to lift it first."""
    locks = [
        lock
        for lock in world.cloud.list("Microsoft.Authorization/locks")
        if any(
            rid.lower().startswith(lock["id"].lower().split("/providers/microsoft.authorization/")[0]) for rid in rids
        )
    ]
    for lock in locks:
        world.cloud.delete(lock["id"])
    try:
        yield
    finally:
        for lock in locks:
            world.cloud.put(lock["id"], lock)


def _restore_roles(world: World, memory: Memory) -> None:
    for assignment in memory["assignments"]:
        world.cloud.put(assignment["id"], assignment)


def _principal(world: World, identity: str) -> str:
    identities = world.cloud.list("Microsoft.ManagedIdentity/userAssignedIdentities")
    exact = [i for i in identities if i["name"].lower() == identity.lower()]
    # The cluster names its identities for people: `train` also finds `id-feedline-sandbox-train`.
    found = exact or [i for i in identities if identity.lower() in i["name"].lower().split("-")]
    if len(found) != 1:
        raise FaultError(
            f"identity {identity} names {len(found)} of: {', '.join(sorted(i['name'] for i in identities)) or 'none'}"
        )
    return str(found[0]["properties"]["principalId"])


def _scope(assignment: Mapping[str, Any]) -> str:
    scope = (
        assignment["properties"].get("scope")
        or assignment["id"].lower().split("/providers/microsoft.authorization/")[0]
    )
    return str(scope).lower()


# -- cache-on-os-disk


def _move_cache(world: World, node: str) -> Memory:
    return {"node": node, "configs": json.loads(_in_node(world, node, {"do": "move"}))}


def _restore_cache(world: World, memory: Memory) -> None:
    _in_node(world, memory["node"], {"do": "restore", "memory": memory["configs"]})


def _in_node(world: World, node: str, order: dict[str, Any]) -> str:
    try:
        done = world.nodes.node(node).execute(["python3", "-", json.dumps(order)], MOVE_CACHE.read_bytes(), within=150)
    except (KeyError, RuntimeError) as missing:
        raise FaultError(str(missing.args[0])) from missing
    if done.returncode != 0:
        raise FaultError(f"node {node}: {done.stderr.decode(errors='replace').strip()[-600:]}")
    return str(done.stdout.decode())


# -- blob-lost


def _lose_blob(world: World, container: str, name: str | None = None) -> Memory:
    account = _account_of(world, container)
    names = sorted(world.store.store_list(account, container))
    if name is None and names:
        name = names[len(names) // 2]
    if name not in names:
        raise FaultError(
            f"container {container} of {account} holds no blob {name or ''}: it has {len(names)} (ingest first)"
        )
    content = world.store.store_delete(account, container, name)
    world.folder.mkdir(parents=True, exist_ok=True)
    kept = world.folder / f"{uuid.uuid4().hex}.blob"
    kept.write_bytes(content)
    return {"account": account, "container": container, "name": name, "kept": str(kept)}


def _return_blob(world: World, memory: Memory) -> None:
    kept = Path(memory["kept"])
    world.store.store_put(memory["account"], memory["container"], memory["name"], kept.read_bytes())
    kept.unlink()


def _account_of(world: World, container: str) -> str:
    found = [
        c["id"]
        for c in world.cloud.list("Microsoft.Storage/storageAccounts/blobServices/containers")
        if c["id"].lower().endswith(f"/containers/{container.lower()}")
    ]
    accounts = {rid.split("/")[8] for rid in found}
    if len(accounts) != 1:
        raise FaultError(
            f"container {container} exists in {len(accounts)} accounts ({', '.join(sorted(accounts)) or 'none'})"
        )
    return accounts.pop().lower()


FAULTS: Mapping[str, Fault] = {
    "rbac-delay": Fault(
        "rbac-delay SECONDS",
        "role assignments made from now on take SECONDS to count",
        _delay_rbac,
        _undelay_rbac,
        _redelay_rbac,
    ),
    "role-removed": Fault(
        "role-removed IDENTITY CONTAINER",
        "the identity loses its roles at the container",
        _remove_roles,
        _restore_roles,
    ),
    "cache-on-os-disk": Fault(
        "cache-on-os-disk NODE",
        "the node's BlobFuse2 caches move from NVMe to the OS disk",
        _move_cache,
        _restore_cache,
    ),
    "blob-lost": Fault(
        "blob-lost CONTAINER [NAME]",
        "one blob vanishes from the store behind everyone's back",
        _lose_blob,
        _return_blob,
    ),
}
