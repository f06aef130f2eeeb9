"""Verb `cache`: every mount of the node through BlobFuse2, cached on the NVMe, and the sealed data set loaded onto
it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from feedline.contract import Contract, Mount, Node
from feedline.errors import FeedlineError, OperationError
from feedline.facts import MountFacts
from feedline.manifest import Manifest
from feedline.names import MANIFEST_BLOB, RESOURCE_DISK, SEAL_BLOB
from feedline.plans.cache import FUSE_CONF, Wanted, cache_share, plan, right
from feedline.render.blobfuse2_yaml import render
from feedline.render.units import mount_unit_file
from feedline.tools.blobfuse2 import max_bytes
from feedline.verdict import Status, Verdict
from feedline.verdicts.cache import LOADS_AGAIN, Sealed, fits, judge_mount, judge_presence
from node import door, presence
from node.apply import apply, confirmed
from node.mounts import mount_facts

Progress = Callable[..., None]


def run(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Given a request of the node protocol (options: again), plan and, when confirmed, apply; wait for the preload
    and verify it."""
    contract = Contract.parse(request["contract"])
    node, options = contract.node(request["node"]), request.get("options", {})
    mounts = contract.mounts_of(node)
    if not mounts:
        raise OperationError(f"{node.name} carries no mount", where=node.name, hint="`fab cache --role train`")
    wanted = {mount.name: _wanted(contract, mount, mounts) for mount in mounts}
    facts = {mount.name: mount_facts(mount) for mount in mounts}
    # Hashing all of it again is what the first request does; the one that applies finds its result in the record.
    again = bool(options.get("again")) and not request.get("apply")
    data = [mount for mount in mounts if mount.read_only and right(wanted[mount.name], facts[mount.name])]
    seen = {m.name: _dataset(contract, m, facts[m.name], node, progress, again=again) for m in data}
    todo = plan(
        list(wanted.values()),
        list(facts.values()),
        nvme_mounted=os.path.ismount(RESOURCE_DISK),
        fuse_conf=door.read(FUSE_CONF) or "",
        # What is mounted is not asked: a dead mount looks like no folder, a stuck one does not answer.
        folders=[m.path for m in mounts if facts[m.name].mounted or os.path.isdir(m.path)],
        reload={name: verdict.reason for name, verdict in seen.items() if verdict.reason in LOADS_AGAIN},
    )
    applied: list[dict[str, Any]] = []
    changed = confirmed(request, todo, node.name) and bool(todo)
    if changed:
        applied = apply(todo, verb="cache", operator=str(options.get("operator", "")), progress=progress)
        facts = {mount.name: mount_facts(mount) for mount in mounts}
    found, verdicts = {}, []
    for mount in mounts:
        fact = facts[mount.name]
        found[mount.name] = fact.as_dict()
        verdicts += judge_mount(mount, fact, node.name, config_sha256=wanted[mount.name].config_sha256)
        if mount.read_only and fact.mounted and fact.live and (changed or not todo):
            # A plan still to be confirmed is not waited for, and what it leaves alone is not looked at twice.
            kept = None if changed else seen.get(mount.name)
            verdict = kept or _dataset(contract, mount, fact, node, progress, again=False)
            found[mount.name]["manifest_digest"] = verdict.evidence.get("manifest_digest", "")
            verdicts.append(verdict)
        elif not mount.read_only and fact.mounted and fact.live and (changed or options.get("again")):
            verdicts.append(_write_probe(contract, mount, node))
    return {
        "facts": {"mounts": found},
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": changed,
        "verdicts": [verdict.as_dict() for verdict in verdicts],
        "measurements": {},
    }


def _wanted(contract: Contract, mount: Mount, mounts: tuple[Mount, ...]) -> Wanted:
    disk = shutil.disk_usage(RESOURCE_DISK).total if os.path.ismount(RESOURCE_DISK) else 0
    config = render(
        mount,
        contract.account(mount.account),
        contract.identity(mount.identity),
        disk_bytes=cache_share(mounts, disk_bytes=disk, dataset_bytes=contract.workload.dataset_bytes),
        cores=os.cpu_count() or 1,
    )
    unit = mount_unit_file(mount)
    return Wanted(mount.name, mount.path, config, unit, _sha256(config), _sha256(unit))


def _dataset(
    contract: Contract, mount: Mount, facts: MountFacts, node: Node, progress: Progress, *, again: bool
) -> Verdict:
    """Load the sealed data set, as far as the mount does that, and judge which of its bytes are on the NVMe."""
    dataset = contract.workload.dataset
    sealed = sealed_manifest(mount, dataset)
    manifest, files = sealed.manifest, {}
    limit = max_bytes(door.read(facts.config_path) or "") if mount.mode == "file_cache" else None
    if manifest and fits(manifest, limit):
        root = os.path.join(facts.cache_path or mount.cache, dataset)
        if mount.mode == "preload":
            presence.wait_loaded(manifest, root, mount.name, facts.binding, progress)
        else:
            presence.fetch(manifest, os.path.join(mount.path, dataset), root, progress)
        files = presence.survey(manifest, root, mount.name, facts.binding, progress, again=again)
    return judge_presence(mount, sealed, files, node.name, limit_bytes=limit)


def sealed_manifest(mount: Mount, dataset: str) -> Sealed:
    """Given a mount, return the manifest that its data set's seal names, or why there is none."""
    folder = Path(mount.path, dataset)
    try:
        seal = json.loads((folder / SEAL_BLOB).read_text())
        manifest = Manifest.loads((folder / MANIFEST_BLOB).read_text(), where=str(folder / MANIFEST_BLOB))
    except (FileNotFoundError, NotADirectoryError):
        return Sealed(None, "DATASET_NOT_SEALED", f"no seal or no manifest in {folder}/_feedline")
    except OSError as error:
        return Sealed(None, "DATASET_UNREADABLE", f"{error.filename}: {error.strerror}")
    except (ValueError, FeedlineError) as error:
        return Sealed(None, "MANIFEST_DAMAGED", str(error).splitlines()[0])
    if not isinstance(seal, dict) or seal.get("manifest_digest") != manifest.digest:
        return Sealed(None, "MANIFEST_DAMAGED", f"the seal in {folder}/_feedline names another manifest")
    return Sealed(manifest)


def _write_probe(contract: Contract, mount: Mount, node: Node) -> Verdict:
    """Write a small file through a read-write mount, close it (that uploads it), read it back, and delete it where
    the identity may delete."""
    check, text = f"writing to {mount.name}", f"written by {node.name}\n"
    path = Path(mount.path, "_feedline", f"write-probe-{node.name}")
    grants = {(g.account, g.container): g.access for g in contract.identity(mount.identity).grants}
    may_delete = grants.get((mount.account, mount.container)) == "write"
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        good, said = path.read_text() == text, "written, uploaded at close, read back"
        if may_delete:
            path.unlink()
            good, said = good and not path.exists(), f"{said}, deleted"
    except OSError as error:
        good, said = False, f"{error.strerror} ({path})"
    return Verdict(
        "cache",
        check,
        node.name,
        Status.PASS if good else Status.FAIL,
        "OK" if good else "NOT_WRITABLE",
        said,
        "" if good else f"`fab access` tells whether {mount.identity} may write in {mount.container}",
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
