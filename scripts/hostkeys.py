"""Which machine is this? Host keys are kept per cluster and by VM id: a recreated VM is a new machine, not a changed
one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import paramiko

from feedline.errors import OperationError
from scripts.places import write

_LOCK = threading.Lock()


def key_name(vm_id: str, node: str) -> str:
    """Given a VM's id and its node name, return the name its key is kept under (ssh's HostKeyAlias)."""
    return vm_id or node


def known(file: Path, name: str) -> dict[str, Any]:
    """Given the file and a name, return its keys by type; empty when the machine was never met."""
    if not file.exists():
        return {}
    try:
        keys = paramiko.HostKeys(str(file)).lookup(name)
    except (OSError, paramiko.SSHException) as error:
        raise OperationError(
            f"cannot be read: {error}", where=str(file), hint="move it away; nodes are then met for the first time"
        ) from error
    return {} if keys is None else {kind: keys[kind] for kind in keys}


def remember(file: Path, name: str, key: Any) -> None:
    """Given the file, a name and a host key met for the first time, add it."""
    with _LOCK:
        keys = paramiko.HostKeys(str(file)) if file.exists() else paramiko.HostKeys()
        keys.add(name, key.get_name(), key)
        lines = [entry.to_line() for entry in keys._entries]
        write(file, "".join(line for line in lines if line))


def forget(file: Path, name: str) -> None:
    """Given the file and the name of a machine whose operating system we made anew, drop its keys."""
    if not known(file, name):
        return
    with _LOCK:
        kept = [
            line for line in file.read_text().splitlines(keepends=True) if name not in line.split(" ")[0].split(",")
        ]
        write(file, "".join(kept))


class FirstContact(paramiko.MissingHostKeyPolicy):
    """Keeps the key of a machine that was never met, and says so through `said`."""

    def __init__(self, file: Path, name: str, said: list[str]) -> None:
        self._file, self._name, self._said = file, name, said

    def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
        before = known(self._file, self._name)
        if before and before.get(key.get_name()) != key:
            raise paramiko.BadHostKeyException(hostname, key, next(iter(before.values())))
        if before:
            return
        remember(self._file, self._name, key)
        self._said.append(f"first contact: host key {key.fingerprint} kept")


def changed(node: str, name: str, file: Path, got: Any) -> OperationError:
    """Return the error for a machine that answers with another key than before."""
    return OperationError(
        f"the host key of VM {name} changed (now {got.fingerprint}): this may be another machine, nothing was sent",
        where=node,
        hint=f"if its OS disk was reinstalled, remove the line {name} from {file}; else find out who answers there",
    )
