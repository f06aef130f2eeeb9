"""What a row is made of: peers measured in turn, several times, the median kept."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

TRIALS = 5


@dataclass(frozen=True)
class Measured:
    """A peer's result: bytes/s of each trial."""

    name: str
    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle trial, in bytes/s."""
        return statistics.median(self.rates)


def compare(peers: dict[str, Callable[[], int]], *, before_each: Callable[[], object] = lambda: None) -> list[Measured]:
    """Given peers (name → work that returns the bytes it did), run them in turn, `TRIALS` times; return their rates."""
    rates: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(TRIALS):
        for name, work in peers.items():
            before_each()
            started = time.perf_counter()
            done = work()
            rates[name].append(done / (time.perf_counter() - started))
    return [Measured(name, tuple(found)) for name, found in rates.items()]


def report(title: str, found: list[Measured]) -> None:
    """Print a table with ratios to the first peer, and the same as one line of JSON."""
    base = found[0].median
    print(f"\n{title} (median of {TRIALS}; ratio to {found[0].name})")
    for peer in found:
        spread = (max(peer.rates) - min(peer.rates)) / peer.median
        print(f"  {peer.name:<44} {peer.median / 1e6:8.0f} MB/s   x{peer.median / base:5.2f}   spread {spread:4.0%}")
    ratios = {peer.name: round(peer.median / base, 3) for peer in found}
    print(json.dumps({"row": title, "machine": machine(), "ratios": ratios}))


def machine() -> dict[str, object]:
    """Return what a reader has to know of where and when this was measured."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 1),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
