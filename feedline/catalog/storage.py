"""What one storage account can do, and what it costs. Source: Microsoft Learn, "Scalability targets for standard
storage accounts" and "Azure subscription and service limits", read 2026-12-01.

The limits are defaults of general-purpose v2; Microsoft raises them by request.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedline.catalog.regions import LARGE


@dataclass(frozen=True)
class Limits:
    """Limits of one account: bits/s out and in, requests/s."""

    egress_bits_per_s: float
    ingress_bits_per_s: float
    requests_per_s: float


_LARGE = Limits(200e9, 60e9, 40_000)
_OTHER = Limits(50e9, 25e9, 20_000)


def limits(location: str) -> Limits:
    """Given a region, return the default limits of one account there."""
    return _LARGE if location in LARGE else _OTHER


REQUEST_BYTES = 8 * 2**20
"""What one read request fetches: BlobFuse2's preload and AzCopy move blocks of 8 MiB or more."""

FUSE_READ_BYTES_PER_S = 4.0e9
"""Cold sequential read of one BlobFuse2 mount, several streams: azure-storage-fuse perf_testing, D96ds_v5, 2026-08
(2.6-6.2 GB/s by mode and account); planned with the middle, measured by `fab validate`."""
