"""Percentiles, by nearest rank: no value is reported that was not measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

QUANTILES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
ENOUGH = {"p50": 2, "p95": 20, "p99": 100, "max": 1}
"""Fewer samples than this make a quantile a matter of luck; it is left out then."""


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Given samples, return their nearest-rank percentiles, and `n`; those that so few samples cannot carry are left
    out."""
    ordered = sorted(values)
    found = {
        name: ordered[max(math.ceil(q * len(ordered)) - 1, 0)] for name, q in QUANTILES if len(ordered) >= ENOUGH[name]
    }
    return {**found, "n": float(len(ordered))}
