"""The one door to the nodes: send the bundle once, then one SSH exec per gate - a JSON request in, JSON lines out."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from feedline.contract import Contract, Node
from feedline.errors import CheckError, FeedlineError, OperationError
from scripts import bundle, remote
from scripts.log import Log
from scripts.places import Places, write
from scripts.ssh import Finished, Link, Way, jump_at
from scripts.ssh_errors import failed

Progress = Callable[[Mapping[str, Any]], None]
Answer = TypeVar("Answer")
MISSING = 66
"""Exit code of remote/enter.py when the node needs the bundle first."""


@dataclass(frozen=True)
class Result:
    """What a node program answered: facts, plan (or None), applied steps, verdicts, measurements - JSON values."""

    facts: Mapping[str, Any]
    plan: Mapping[str, Any] | None
    applied: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Mapping[str, Any]]
    measurements: Mapping[str, Any]
    changed: bool


class Door(Protocol):
    """How gates reach nodes; tests put something else in its place."""

    def call(
        self, node: Node, verb: str, *, apply: str | None, options: Mapping[str, Any], progress: Progress
    ) -> Result: ...

    def lock(self, node: Node, why: str, *, take: bool, said: Callable[[str], None]) -> Any: ...

    def close(self) -> None: ...


def private_key(identity: str, environ: Mapping[str, str] = os.environ) -> str:
    """Given --identity, return the private key file to use, "" for the ssh agent. Raise OperationError if there is
    no such file."""
    chosen = identity or environ.get("FEEDLINE_SSH_KEY", "")
    if chosen and not Path(chosen).expanduser().is_file():
        raise OperationError(
            "no such private key",
            where=chosen,
            hint="--identity or FEEDLINE_SSH_KEY names the cluster's private key file",
        )
    return str(Path(chosen).expanduser()) if chosen else ""


class Runner:
    """Connections to one cluster's nodes, opened when needed and kept until `close`."""

    def __init__(self, contract: Contract, key: str, operator: str, places: Places, log: Log) -> None:
        self._contract, self._operator, self._places, self._log = contract, operator, places, log
        way_in = jump_at(os.environ.get("FEEDLINE_SSH_JUMP", ""))
        self._way = Way(contract, key, places.known_hosts(contract.cluster), way_in)
        self._links: dict[str, Link] = {}
        self._bundles: dict[str, bundle.Bundle] = {}
        self._archives: dict[str, bytes] = {}
        self._guard = threading.Lock()
        self._tags_file = places.state(contract.cluster) / "pythons.json"
        self._tags: dict[str, str] = json.loads(self._tags_file.read_text()) if self._tags_file.exists() else {}

    def call(
        self, node: Node, verb: str, *, apply: str | None, options: Mapping[str, Any], progress: Progress
    ) -> Result:
        """Given a node, a verb and its options, run it there and return its answer; progress lines are passed on as
        they come.

        Raise OperationError when the node cannot be reached, sudo is refused, or the node program says it could not.
        """
        request = json.dumps({"contract": self._contract.as_dict(), "node": node.name, "apply": apply,
                              "options": {**options, "operator": self._operator}}).encode() + b"\n"  # fmt: skip
        link = self._link(node)
        for attempt in range(3):
            sent = self._bundle_for(node, progress)
            lines = _Lines(progress)
            which = (sent.folder, sent.id, sent.tag) if sent else ("-", "-", "unknown")
            finished = link.execute(remote.argv("enter", (*which, verb)), request, lines.take)
            for text in link.said:
                progress({"text": text})
            link.said.clear()
            if finished.code != MISSING or lines.missing is None:
                self._log.note(f"{node.name} {verb} apply={apply or '-'}: exit {finished.code}", finished.errors)
                return self._answer(node, verb, finished, lines)
            self._learn(node, str(lines.missing["tag"]))
            if attempt < 2:
                self._send(node, link, progress)
        why = (lines.missing or {}).get("why", "unknown")
        raise OperationError(
            f"the bundle does not stay there: {why}",
            where=node.name,
            hint="is /opt full or mounted read-only?",
        )

    @contextmanager
    def lock(self, node: Node, why: str, *, take: bool, said: Callable[[str], None]) -> Iterator[None]:
        """Given the node that keeps the cluster's lock and the reason, hold it while the block runs. `take` breaks
        another's.

        Raise OperationError naming the holder when somebody else has it.
        """
        from scripts.lock import held

        with held(self._link(node), self._operator, why, take=take, said=said):
            yield

    def put(self, node: Node, argv: Sequence[str], stdin: bytes) -> str:
        """Given a node, an argv and its input, run it as it is and return its output. Raise OperationError if it
        fails."""
        lines: list[str] = []
        finished = self._link(node).execute(argv, stdin, lines.append)
        if finished.code:
            raise failed(node, argv[0], finished.code, finished.errors, self._log.file)
        return "\n".join(lines)

    def close(self) -> None:
        """Close every connection."""
        for link in self._links.values():
            link.close()

    # -- bundle --------------------------------------------------------------------------------------------------------
    def _bundle_for(self, node: Node, progress: Progress) -> bundle.Bundle | None:
        """Return the bundle for a node, or None while its Python is not known: the node is then asked first."""
        with self._guard:
            tag = self._tags.get(node.vm_id or node.name)
            if tag is None:
                return None
            if tag not in self._bundles:
                self._bundles[tag] = bundle.build(self._places, tag, lambda text: progress({"text": text}))
            return self._bundles[tag]

    def _learn(self, node: Node, tag: str) -> None:
        with self._guard:
            if self._tags.get(node.vm_id or node.name) != tag:
                self._tags[node.vm_id or node.name] = tag
                write(self._tags_file, json.dumps(self._tags, indent=1, sort_keys=True))

    def _send(self, node: Node, link: Link, progress: Progress) -> None:
        made = self._bundle_for(node, progress)
        assert made is not None
        with self._guard:  # packed once, however many nodes wait for it
            archive = self._archives.get(made.id) or self._archives.setdefault(made.id, made.archive())
        progress({"text": f"sending the node program, {len(archive) / 1e6:.1f} MB (once)"})
        finished = link.execute(remote.argv("unpack", (made.folder, made.id)), archive, lambda line: None)
        if finished.code:
            raise failed(node, "unpack", finished.code, finished.errors, self._log.file)

    # -- answers -------------------------------------------------------------------------------------------------------
    def _link(self, node: Node) -> Link:
        with self._guard:
            return self._links.setdefault(node.name, Link(self._way, node))

    def _answer(self, node: Node, verb: str, finished: Finished, lines: _Lines) -> Result:
        last = lines.last or {}
        if last.get("type") == "error":
            kind = CheckError if last.get("exit_code") == 2 else OperationError
            where = str(last.get("where") or "")
            where = where if where.startswith(node.name) else f"{node.name}: {where}" if where else node.name
            raise kind(str(last.get("what", "failed")), where=where, hint=str(last.get("hint", "")))
        if last.get("type") == "result" and finished.code == 0:
            return Result(
                last.get("facts") or {},
                last.get("plan"),
                last.get("applied") or [],
                last.get("verdicts") or [],
                last.get("measurements") or {},
                bool(last.get("changed")),
            )
        raise failed(node, verb, finished.code, finished.errors, self._log.file)


class _Lines:
    """Reads a node program's JSON lines: progress is passed on, the last result or error is kept."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.last: dict[str, Any] | None = None
        self.missing: dict[str, Any] | None = None

    def take(self, line: str) -> None:
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            return  # a library that prints: not part of the protocol
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "progress":
            self._progress(value)
        elif kind == "missing":
            self.missing = value
        elif kind in ("result", "error"):
            self.last = value


def fan_out(nodes: Sequence[Node], work: Callable[[Node], Answer], parallel: int) -> dict[str, Answer | FeedlineError]:
    """Given nodes and what to do with each, do it for `parallel` at once; return each node's answer, or its error."""

    def one(node: Node) -> Answer | FeedlineError:
        try:
            return work(node)
        except FeedlineError as error:
            return error

    pool = ThreadPoolExecutor(max(1, min(parallel, len(nodes))))
    try:
        return dict(zip((node.name for node in nodes), pool.map(one, nodes), strict=True))
    finally:
        # After Ctrl-C nobody waits for the nodes: closing the session's connections ends their threads.
        pool.shutdown(wait=False, cancel_futures=True)
