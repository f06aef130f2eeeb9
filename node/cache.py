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
from feedline.manifest import Manifest
from feedline.names import MANIFEST_BLOB, RESOURCE_DISK, SEAL_BLOB
from feedline.plans.cache import Wanted, plan
from feedline.render.blobfuse2_yaml import render
from feedline.render.units import mount_unit_file
from feedline.verdict import Status, Verdict
from feedline.verdicts.cache import judge_mount, judge_presence
from node import door, presence
from node.apply import apply, confirmed
from node.facts import mount_facts

Progress = Callable[..., None]


def run(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Given a request of the node protocol (options: again), plan and, when confirmed, apply; wait for the preload
    and verify it."""
    contract = Contract.parse(request["contract"])
    node, options = contract.node(request["node"]), request.get("options", {})
    mounts = contract.mounts_of(node)
    if not mounts:
        raise OperationError(f"{node.name} carries no mount", where=node.name, hint="`fab cache --role train`")
    todo = plan(
        [_wanted(contract, mount) for mount in mounts],
        [mount_facts(mount) for mount in mounts],
        nvme_mounted=os.path.ismount(RESOURCE_DISK),
        fuse_conf=door.read("/etc/fuse.conf") or "",
        folders=[mount.path for mount in mounts if _is_folder(mount.path)],
    )
    applied: list[dict[str, Any]] = []
    changed = confirmed(request, todo, node.name) and bool(todo)
    if changed:
        applied = apply(todo, verb="cache", operator=str(options.get("operator", "")), progress=progress)
    facts, verdicts = {}, []
    for mount in mounts:
        # With a plan still to be confirmed nothing is waited for and nothing is hashed: it would be done twice.
        settled = changed or not todo
        found, judged = _judge(
            contract, node, mount, progress, settled=settled, wrote=changed, again=bool(options.get("again"))
        )
        facts[mount.name] = found
        verdicts += [verdict.as_dict() for verdict in judged]
    return {
        "facts": {"mounts": facts},
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": changed,
        "verdicts": verdicts,
        "measurements": {},
    }


def _wanted(contract: Contract, mount: Mount) -> Wanted:
    disk = shutil.disk_usage(RESOURCE_DISK).total if os.path.ismount(RESOURCE_DISK) else 0
    config = render(
        mount,
        contract.account(mount.account),
        contract.identity(mount.identity),
        disk_bytes=disk,
        cores=os.cpu_count() or 1,
    )
    unit = mount_unit_file(mount)
    return Wanted(mount.name, mount.path, config, unit, _sha256(config), _sha256(unit))


def _judge(
    contract: Contract, node: Node, mount: Mount, progress: Progress, *, settled: bool, wrote: bool, again: bool
) -> tuple[dict[str, Any], list[Verdict]]:
    facts = mount_facts(mount)
    verdicts = judge_mount(mount, facts, node.name)
    found: dict[str, Any] = facts.as_dict()
    if not (facts.mounted and facts.live):
        return found, verdicts
    if not mount.read_only:
        return found, [*verdicts, _write_probe(mount, node)] if wrote or again else verdicts
    manifest = sealed_manifest(mount, contract.workload.dataset)
    found["manifest_digest"] = manifest.digest if manifest else ""
    root = os.path.join(facts.cache_path or mount.cache, contract.workload.dataset)
    files = {}
    if manifest and settled and mount.mode == "preload":
        presence.wait_loaded(manifest, root, progress)
    if manifest and settled:
        files = presence.survey(manifest, root, mount.name, facts.binding, progress, again=again)
    return found, [*verdicts, judge_presence(mount, manifest, files, node.name)]


def sealed_manifest(mount: Mount, dataset: str) -> Manifest | None:
    """Given a mount, return the manifest that its data set's seal names, or None when there is no such data set."""
    folder = Path(mount.path, dataset)
    try:
        seal = json.loads((folder / SEAL_BLOB).read_text())
        manifest = Manifest.loads((folder / MANIFEST_BLOB).read_text(), where=str(folder / MANIFEST_BLOB))
    except (OSError, ValueError, FeedlineError):
        return None
    return manifest if seal.get("manifest_digest") == manifest.digest else None


def _write_probe(mount: Mount, node: Node) -> Verdict:
    """Write a small file through a read-write mount, close it (that uploads it), and read it back."""
    check, text = f"writing to {mount.name}", f"written by {node.name}\n"
    path = Path(mount.path, "_feedline", f"write-probe-{node.name}")
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        good, said = path.read_text() == text, "written, uploaded at close, read back"
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


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except OSError:
        return True  # a dead mount: it is there


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
