"""What Azure is asked to watch on a lake account: metric alerts, each on a metric that exists.

Source: Microsoft Learn, "Supported metrics for Microsoft.Storage/storageAccounts" (Transaction: Egress, Ingress,
Transactions, SuccessE2ELatency, Availability; Capacity: UsedCapacity), read 2026-12-01.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedline.catalog.storage import Limits

NEAR = 0.8
"""From this share of a limit on, people are told: raising it takes Microsoft days."""

CAPACITY_BYTES = 5 * 2**50
"""Default capacity of one account, 5 PiB."""

WINDOW_S = 300

THROTTLED = (
    "ServerBusyError",
    "ClientThrottlingError",
    "ClientAccountBandwidthThrottlingError",
    "ClientAccountRequestThrottlingError",
)
"""Values of the dimension ResponseType that mean "too much at once"."""


@dataclass(frozen=True)
class MetricAlert:
    """One alert: the metric, how it is aggregated over `window` (ISO 8601), and what it is compared with. `dimension`
    is (name, values) or None; `severity` 0 (critical) to 4."""

    name: str
    says: str
    metric: str
    aggregation: str
    operator: str
    threshold: float
    severity: int
    window: str = "PT5M"
    every: str = "PT1M"
    dimension: tuple[str, tuple[str, ...]] | None = None


def account_alerts(limits: Limits) -> tuple[MetricAlert, ...]:
    """Given the limits of an account, return its alerts. Thresholds on totals are per window of five minutes."""
    window = WINDOW_S * NEAR

    def near(name: str, says: str, metric: str, per_s: float) -> MetricAlert:
        return MetricAlert(name, says, metric, "Total", "GreaterThan", per_s * window, 2)

    def slow(name: str, says: str, metric: str, aggregation: str, most: float, severity: int) -> MetricAlert:
        return MetricAlert(name, says, metric, aggregation, "GreaterThan", most, severity, "PT15M", "PT5M")

    throttled = ("throttled", "requests are refused as too many: GPUs wait", "Transactions")
    available = ("availability", "fewer than 99.9 % of requests succeed", "Availability")
    full = ("capacity", "the account is 80 % full", "UsedCapacity")
    return (
        near("egress-near-limit", "reads near what the account may send", "Egress", limits.egress_bits_per_s / 8),
        near("ingress-near-limit", "writes near what the account takes", "Ingress", limits.ingress_bits_per_s / 8),
        near("requests-near-limit", "requests near the account's limit", "Transactions", limits.requests_per_s),
        slow("latency-average", "a request takes over 200 ms on average", "SuccessE2ELatency", "Average", 200, 2),
        slow("latency-maximum", "a request took over 30 s", "SuccessE2ELatency", "Maximum", 30_000, 3),
        MetricAlert(*throttled, "Total", "GreaterThan", 0, 1, dimension=("ResponseType", THROTTLED)),
        MetricAlert(*available, "Average", "LessThan", 99.9, 1, "PT15M", "PT5M"),
        MetricAlert(*full, "Average", "GreaterThan", CAPACITY_BYTES * NEAR, 3, "PT6H", "PT1H"),
    )
