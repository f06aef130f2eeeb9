"""Verb `drain`: what only this node has, and the mounts stopped when that is nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from feedline.contract import Contract, Mount, Node
from feedline.plans.drain import Drain, plan
from feedline.tools import kvp
from feedline.verdicts.drain import judge
from node.apply import apply, confirmed
from node.mounts import mount_facts

PROC = "/proc"


def run(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Given a request of the node protocol, plan and, when confirmed, stop the mounts; return facts and verdicts."""
    contract = Contract.parse(request["contract"])
    node = contract.node(request["node"])
    facts = collect(contract, node)
    todo = plan(facts)
    applied: list[dict[str, Any]] = []
    if confirmed(request, todo, node.name):
        operator = str(request.get("options", {}).get("operator", ""))
        applied = apply(todo, verb="drain", operator=operator, progress=progress)
        facts = collect(contract, node)
    return {
        "facts": facts.as_dict(),
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": bool(applied),
        "verdicts": [verdict.as_dict() for verdict in judge(facts, node.name)],
        "measurements": {},
    }


def collect(contract: Contract, node: Node) -> Drain:
    """Given the contract and this node, return what it holds."""
    mounts = contract.mounts_of(node)
    pool = Path(kvp.POOL)
    told = kvp.parse(pool.read_bytes()) if pool.exists() else {}
    return Drain(
        open_files=tuple(sorted(open_files([mount.path for mount in mounts]))),
        unsaved=tuple(sorted(name for m in mounts if not m.read_only for name in _unsaved(contract, node, m))),
        active=tuple(mount.name for mount in mounts if mount_facts(mount).unit_active == "active"),
        physical_host=told.get("PhysicalHostName") or None,
    )


def open_files(points: list[str]) -> set[str]:
    """Given mount points, return the files in use on them with the program that uses each, `/mnt/x/file (python, 41)`:
    open, mapped into memory (a data loader closes what it has mapped), or the folder a program stands in."""
    found = set()
    for process in Path(PROC).glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            used = {os.readlink(link) for link in ((process / "cwd"), *(process / "fd").iterdir())}
            maps = (process / "maps").read_text(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        used |= {line.split(None, 5)[5] for line in maps.splitlines() if len(line.split(None, 5)) == 6}
        found |= {
            f"{path} ({name}, {process.name})"
            for path in used
            if any(path == point or path.startswith(f"{point}/") for point in points)
        }
    return found


def _unsaved(contract: Contract, node: Node, mount: Mount) -> list[str]:
    from node.blob import Store

    held = dict(cached(mount.cache))
    if not held:
        return []
    account, client = contract.account(mount.account), contract.identity(node.identity).client_id
    store = Store(account.blob_endpoint, mount.container, client)
    # By folder: a container of checkpoints is long, what a node has of it is not.
    folders = {f"{name.split('/', 1)[0]}/" if "/" in name else name for name in held}
    stored = {one.name: one.size for folder in folders for one in store.list(folder)}
    return [f"{mount.name}/{name}" for name, size in held.items() if stored.get(name) != size]


def cached(folder: str) -> list[tuple[str, int]]:
    """Given a file cache's folder, return its files by blob name, with their sizes."""
    root = Path(folder)
    return [(str(path.relative_to(root)), path.stat().st_size) for path in root.rglob("*") if path.is_file()]
