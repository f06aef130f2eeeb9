"""What one storage account can do. Source: Microsoft Learn, "Scalability targets for standard storage accounts",
read 2026-12-01.

The numbers are defaults of the large regions for general-purpose v2; Azure raises them by request.
"""

from __future__ import annotations

EGRESS_BITS_PER_S = 200e9
INGRESS_BITS_PER_S = 60e9
REQUESTS_PER_S = 40_000
FUSE_READ_BYTES_PER_S = 4.0e9
"""Cold sequential read of one BlobFuse2 mount, several streams: azure-storage-fuse perf_testing, D96ds_v5, 2026-08
(2.6-6.2 GB/s by mode and account); planned with the middle, measured by `fab validate`."""
