"""Verb `ingest`: from a folder on the ingest node to a sealed, verified data set in the lake."""

from __future__ import annotations

import hashlib
import json
import os
import random
import stat
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feedline.contract import Contract, Mount
from feedline.errors import OperationError
from feedline.manifest import Entry, Manifest
from feedline.names import MANIFEST_BLOB, SEAL_BLOB, STATE_FOLDER
from feedline.plan import Plan
from feedline.plans.ingest import Facts, Found, fingerprint, plan
from feedline.verdict import Verdict
from feedline.verdicts.ingest import judge, not_ingested
from node.apply import confirmed, note
from node.copy import Copy

if TYPE_CHECKING:
    from node.blob import Store

Progress = Callable[..., None]
READ_BYTES = 4 << 20
READ_BACK_BYTES = 1 << 30
"""Blobs read back and hashed at a verification: a random sample of at most this many bytes, and always one blob at
least."""


class Ingest:
    """One data set on this node: where its source, its local record and its blobs are."""

    def __init__(self, request: Mapping[str, Any], progress: Progress) -> None:
        from node.blob import Store

        contract = Contract.parse(request["contract"])
        options = request.get("options", {})
        self.node = contract.node(request["node"])
        self.progress, self.options = progress, options
        self.dataset: str = options.get("dataset") or contract.workload.dataset
        mount = _dataset_mount(contract)
        # A copy for the nodes that another account serves is ingested like the first.
        account = contract.account(options.get("account") or mount.account)
        identity = contract.identity(self.node.identity)
        self.store: Store = Store(account.blob_endpoint, mount.container, identity.client_id)
        self.destination = f"{account.blob_endpoint}/{mount.container}/{self.dataset}"
        copy = [account.name] if account.name != mount.account else []
        self.folder = Path(STATE_FOLDER, "ingest", *copy, self.dataset)
        self.copy = Copy(self.folder, identity.client_id)
        self.manifest_file = self.folder / "manifest.json"
        self.source: str | None = options.get("source")

    # -- facts
    # ---------------------------------------------------------------------------------------------------------------
    def facts(self) -> Facts:
        """Walk the source, read the seal and look at earlier runs."""
        if self.source is not None and not Path(self.source).is_dir():
            raise OperationError(
                f"no such folder: {self.source}",
                where=self.node.name,
                hint="--source names a folder on the ingest node",
            )
        found = tuple(_walk(Path(self.source))) if self.source else ()
        seal = json.loads(self.store.read(f"{self.dataset}/{SEAL_BLOB}") or "null") or {}
        return Facts(
            source=self.source,
            found=found,
            sealed_fingerprint=seal.get("source_fingerprint"),
            sealed_at=seal.get("sealed_at"),
            previous=self.copy.previous(),
            running=self.copy.running(),
            hashed=self._hashed(found),
            azcopy=str(self.options.get("azcopy", "azcopy")),
            destination=self.destination,
        )

    def _hashed(self, found: tuple[Found, ...]) -> bool:
        record = self.folder / "source.json"
        if not (record.exists() and self.manifest_file.exists()):
            return False
        return json.loads(record.read_text()).get("fingerprint") == fingerprint(found)

    # -- steps
    # ---------------------------------------------------------------------------------------------------------------
    def execute(self, steps: Plan, found: tuple[Found, ...]) -> list[dict[str, Any]]:
        """Run the steps in order; the first that fails ends the run, and what was done stays usable for the next
        one."""
        applied = []
        for step in steps.steps:
            started = time.monotonic()
            self._step(step.argv, found)
            seconds = round(time.monotonic() - started, 3)
            applied.append({"why": step.why, "argv": list(step.argv), "rc": 0, "seconds": seconds})
            note("ingest", str(self.options.get("operator", "")), applied[-1])
        return applied

    def _step(self, argv: tuple[str, ...], found: tuple[Found, ...]) -> None:
        action = argv[1] if argv[0] == "feedline" else "copy"
        if action == "hash":
            self._hash(found)
        elif action == "copy":
            self.copy.start(argv)
            self.copy.watch(self.progress)
        elif action == "attach":
            self.copy.watch(self.progress)
        elif action == "verify":
            self._require_verified(found)
        elif action == "manifest":
            self.store.write(f"{self.dataset}/{MANIFEST_BLOB}", self.manifest_file.read_bytes())
        else:
            self._seal(found)

    def _hash(self, found: tuple[Found, ...]) -> None:
        assert self.source is not None
        files = [f for f in found if f.kind == "file"]
        total, done = sum(f.size for f in files), 0
        entries = []
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:  # hashlib lets go of the interpreter lock
            for entry in pool.map(lambda f: _entry(Path(self.source or "/"), f.path), files):
                entries.append(entry)
                done += entry.size
                self.progress("hashing", done=done, total=total, unit="B")
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.manifest_file, Manifest.of(self.dataset, entries).dumps())
        _write(self.folder / "source.json", json.dumps({"source": self.source, "fingerprint": fingerprint(found)}))

    def _require_verified(self, found: tuple[Found, ...]) -> None:
        if self.source is not None and fingerprint(tuple(_walk(Path(self.source)))) != fingerprint(found):
            raise OperationError(
                f"{self.source} changed while it was ingested",
                where=self.node.name,
                hint="stop what writes there, then run `fab ingest` again; nothing was sealed",
            )
        bad = [v for v in self.verdicts() if v.status != "PASS"]
        if bad:
            lines = [f"  - {v.check}: {v.message}" for v in bad]
            raise OperationError(
                "\n".join(["the store does not hold what was sent; nothing was sealed:", *lines]),
                where=self.destination,
                hint="run `fab ingest` again to upload once more; if it repeats, someone else writes under this prefix",
            )

    def _seal(self, found: tuple[Found, ...]) -> None:
        manifest = Manifest.loads(self.manifest_file.read_text(), where=str(self.manifest_file))
        seal = {
            "version": 1,
            "dataset": self.dataset,
            "manifest_digest": manifest.digest,
            "count": manifest.count,
            "bytes": manifest.bytes,
            "source_fingerprint": fingerprint(found),
            "sealed_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "sealed_by": self.node.name,
        }
        self.store.write(f"{self.dataset}/{SEAL_BLOB}", json.dumps(seal, indent=1, sort_keys=True).encode())

    # -- verdicts
    # ------------------------------------------------------------------------------------------------------------
    def verdicts(self) -> list[Verdict]:
        """Compare the service's listing, and a sample read back, with the manifest (the stored one, else the one on
        disk)."""
        stored = self.store.read(f"{self.dataset}/{MANIFEST_BLOB}")
        text = stored.decode() if stored is not None else self.manifest_file.read_text()
        manifest = Manifest.loads(text, where=f"{self.destination}/{MANIFEST_BLOB}")
        prefix = f"{self.dataset}/"
        listed = {blob.name.removeprefix(prefix): (blob.size, blob.md5) for blob in self.store.list(prefix)}
        listed = {path: value for path, value in listed.items() if not path.startswith("_feedline/")}
        return judge(manifest, listed, self._read_back(manifest, listed), self.node.name)

    def _read_back(self, manifest: Manifest, listed: Mapping[str, tuple[int, str]]) -> dict[str, str]:
        present = [entry for entry in manifest.entries if entry.path in listed]
        random.shuffle(present)
        chosen: list[Entry] = []
        for entry in present:
            if not chosen or sum(e.size for e in chosen) + entry.size <= int(
                self.options.get("read_back_bytes", READ_BACK_BYTES)
            ):
                chosen.append(entry)
        total, done = sum(e.size for e in chosen), [0]

        def count(size: int) -> None:
            done[0] += size
            self.progress("reading back", done=done[0], total=total, unit="B")

        return {entry.path: self.store.hash(f"{self.dataset}/{entry.path}", count) for entry in chosen}


def run(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Given a request of the node protocol (options: source, dataset, cap_mbps, read_back_bytes), return plan and
    verdicts; apply the plan when its digest is given. Raise OperationError for a source that cannot be ingested, or a
    copy that failed."""
    ingest = Ingest(request, progress)
    facts = ingest.facts()
    todo = plan(facts, ingest.dataset, cap_mbps=float(ingest.options.get("cap_mbps", 0)))
    applied: list[dict[str, Any]] = []
    if confirmed(request, todo, ingest.node.name):
        applied = ingest.execute(todo, facts.found)
        facts = ingest.facts()
    sealed = facts.sealed_fingerprint is not None
    verdicts = ingest.verdicts() if sealed else [not_ingested(ingest.dataset, ingest.node.name)]
    files = [f for f in facts.found if f.kind == "file"]
    shown = {
        "source": facts.source,
        "files": len(files),
        "bytes": sum(f.size for f in files),
        "sealed_at": facts.sealed_at,
        "destination": facts.destination,
        "dataset": ingest.dataset,
    }
    return {
        "facts": shown,
        "plan": todo.as_dict(),
        "applied": applied,
        "changed": bool(applied),
        "measurements": {},
        "verdicts": [verdict.as_dict() for verdict in verdicts],
    }


def _dataset_mount(contract: Contract) -> Mount:
    for mount in contract.mounts:
        if mount.role == "train" and mount.read_only:
            return mount
    raise OperationError(
        "the contract has no read-only mount on role train: nothing reads the data set",
        hint="add one in the settings, then `pulumi up`",
    )


def _walk(root: Path) -> list[Found]:
    """Every entry below `root` that is not a folder; what cannot be read is listed as `unreadable`."""
    found: list[Found] = []

    def refuse(error: OSError) -> None:
        found.append(Found(os.path.relpath(error.filename, root), "unreadable", 0, 0))

    for folder, folders, files in os.walk(root, onerror=refuse):
        for name in [*files, *(d for d in folders if os.path.islink(os.path.join(folder, d)))]:
            path = os.path.join(folder, name)
            facts = os.lstat(path)
            kind = "link" if stat.S_ISLNK(facts.st_mode) else "file" if stat.S_ISREG(facts.st_mode) else "special"
            if kind == "file" and not os.access(path, os.R_OK):
                kind = "unreadable"
            found.append(Found(os.path.relpath(path, root), kind, facts.st_size, facts.st_mtime_ns))
    return sorted(found)


def _entry(root: Path, path: str) -> Entry:
    md5, sha256, size = hashlib.md5(), hashlib.sha256(), 0
    with (root / path).open("rb", buffering=0) as file:
        while block := file.read(READ_BYTES):
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return Entry(path, size, md5.hexdigest(), sha256.hexdigest())


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    temporary.replace(path)
