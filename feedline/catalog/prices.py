"""Planning prices in US dollars, for sentences that say what something costs. Not quotes: region, contract and year
change them. Orders of magnitude from Microsoft's public price pages (Blob Storage, bandwidth, Azure Monitor; East US,
pay as you go), noted 2026-12-01."""

from __future__ import annotations

LAKE_USD_PER_GB_MONTH = 0.018
"""Hot tier, LRS."""

COPIES = {"LRS": 1.0, "ZRS": 1.25, "GRS": 2.0}
"""What a kind of redundancy costs, as a multiple of LRS."""

REGION_EGRESS_USD_PER_GB = 0.02
"""Data between two regions of one continent."""

LOG_USD_PER_GB = 2.30
"""Ingestion into Log Analytics."""

LOG_BYTES_PER_READ = 1000
"""A StorageRead record: about 1 kB."""


def log_reads_usd(reads_per_s: float) -> float:
    """Given reads/s, return the dollars a month of logging each one (30 days)."""
    return reads_per_s * 30 * 86400 * LOG_BYTES_PER_READ / 1e9 * LOG_USD_PER_GB
