"""Sizes for the ingest and jump node, smallest first: name to network bandwidth in bits/s.

Source: MicrosoftDocs/azure-compute-docs, sizes/general-purpose/dsv5-series.md (Max Bandwidth), read 2026-12-01.
"""

from __future__ import annotations

INGEST_SIZES = {
    "Standard_D4s_v5": 12.5e9,
    "Standard_D8s_v5": 12.5e9,
    "Standard_D16s_v5": 12.5e9,
    "Standard_D32s_v5": 16e9,
    "Standard_D48s_v5": 24e9,
    "Standard_D64s_v5": 30e9,
    "Standard_D96s_v5": 35e9,
}
"""The smallest three have the same network; AzCopy's hashing may want more cores than the smallest has, so
`ingest.size` can be set by hand."""
