"""What a VM size looks like inside the sandbox.

The rates are the sandbox's own, far below the real ones: two cores cannot feed eight H100s, so the emulated cluster is
scaled until OS disk < NIC < the job's demand (80 MB/s) < NVMe, and a wrong set-up fails by physics, not by a rule.
"""

from dataclasses import dataclass

MB = 1_000_000
GIB = 1024**3

# GPUs per VM size, from learn.microsoft.com "ND family" size pages (read 2026-11).
GPUS = {
    "standard_nd40rs_v2": 8,
    "standard_nd96asr_v4": 8,
    "standard_nd96amsr_a100_v4": 8,
    "standard_nd96isr_h100_v5": 8,
    "standard_nd96isr_h200_v5": 8,
    "standard_nd96isr_mi300x_v5": 8,
    "standard_nd128isr_ndr_gb200_v6": 4,
    "standard_nd128isr_gb300_v6": 4,
}


@dataclass(frozen=True)
class Profile:
    """Emulated hardware of one node. Rates in bytes per second; `os_read` None means not throttled."""

    gpus: int
    nic: int
    os_read: int | None
    nvme_bytes: int | None


def profile_of(vm_size: str) -> Profile:
    """Given an Azure VM size, return what its node gets: only ND sizes get GPUs, an NVMe disk and a slow OS disk."""
    size = vm_size.lower()
    if size in GPUS:
        return Profile(gpus=GPUS[size], nic=50 * MB, os_read=40 * MB, nvme_bytes=2 * GIB)
    return Profile(gpus=0, nic=100 * MB, os_read=None, nvme_bytes=None)
