"""What the ARM face asks of whoever runs virtual machines."""

from __future__ import annotations

from typing import Any, Protocol

Vm = dict[str, Any]


class ComputeError(Exception):
    """A VM operation failed, in ARM's words: code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class Compute(Protocol):
    """Runs virtual machines. Every call blocks until done and raises ComputeError; `vm` is the full body with
    customData."""

    def create(self, vm: Vm) -> None: ...
    def delete(self, vm: Vm) -> None: ...
    def restart(self, vm: Vm) -> None: ...
    def start(self, vm: Vm) -> None: ...
    def power_off(self, vm: Vm) -> None: ...
    def deallocate(self, vm: Vm) -> None: ...
    def state(self, vm: Vm) -> str: ...


class NullCompute:
    """No machines at all: it only remembers what was asked, for tests of the control plane."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._states: dict[str, str] = {}

    def create(self, vm: Vm) -> None:
        """Note that the VM is to run."""
        self._note("create", vm, "running")

    def delete(self, vm: Vm) -> None:
        """Note that the VM is gone."""
        self._note("delete", vm, "unknown")

    def restart(self, vm: Vm) -> None:
        """Note a restart."""
        self._note("restart", vm, "running")

    def start(self, vm: Vm) -> None:
        """Note a start."""
        self._note("start", vm, "running")

    def power_off(self, vm: Vm) -> None:
        """Note that the VM is stopped."""
        self._note("power_off", vm, "stopped")

    def deallocate(self, vm: Vm) -> None:
        """Note that the VM is deallocated."""
        self._note("deallocate", vm, "deallocated")

    def state(self, vm: Vm) -> str:
        """Return the state noted last."""
        return self._states.get(vm["id"].lower(), "unknown")

    def _note(self, call: str, vm: Vm, state: str) -> None:
        self.calls.append((call, vm["name"]))
        self._states[vm["id"].lower()] = state
