"""VM sizes this subscription may create: GPUs, vCPUs, and whether the size does RDMA.

From the size pages of MicrosoftDocs/azure-compute-docs (gpu-accelerated, general-purpose), read 2026-12-01.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VmSize:
    """A size: its number of GPUs and vCPUs, the family whose quota it counts against (as `az vm list-usage` names it;
    those of H200 and later are formed like the others, not looked up), and whether it has InfiniBand."""

    gpus: int
    vcpus: int
    family: str
    rdma: bool = False


SIZES = {
    "Standard_ND96asr_v4": VmSize(8, 96, "standardNDASv4_A100Family", True),
    "Standard_ND96amsr_A100_v4": VmSize(8, 96, "standardNDAMSv4_A100Family", True),
    "Standard_ND96isr_H100_v5": VmSize(8, 96, "standardNDSH100v5Family", True),
    "Standard_ND96isr_H200_v5": VmSize(8, 96, "standardNDISRH200V5Family", True),
    "Standard_ND96isr_MI300X_v5": VmSize(8, 96, "standardNDISRMI300XV5Family", True),
    "Standard_ND128isr_NDR_GB200_v6": VmSize(4, 128, "standardNDISRGB200V6Family", True),
    "Standard_ND128isr_GB300_v6": VmSize(4, 128, "standardNDISRGB300V6Family", True),
    "Standard_D2s_v5": VmSize(0, 2, "standardDSv5Family"),
    "Standard_D4s_v5": VmSize(0, 4, "standardDSv5Family"),
    "Standard_D8s_v5": VmSize(0, 8, "standardDSv5Family"),
    "Standard_D16s_v5": VmSize(0, 16, "standardDSv5Family"),
    "Standard_D32s_v5": VmSize(0, 32, "standardDSv5Family"),
    "Standard_D48s_v5": VmSize(0, 48, "standardDSv5Family"),
    "Standard_D64s_v5": VmSize(0, 64, "standardDSv5Family"),
    "Standard_D96s_v5": VmSize(0, 96, "standardDSv5Family"),
    "Standard_D96ds_v5": VmSize(0, 96, "standardDDSv5Family"),
}


def find(name: str) -> VmSize | None:
    """Given a size's name in any case, return it, or None when this subscription has no such size."""
    return next((size for known, size in SIZES.items() if known.lower() == name.lower()), None)
