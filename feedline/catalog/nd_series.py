"""ND-series GPU sizes. Discover at run time and compare with this: the documentation contradicts itself here and there.

Source: MicrosoftDocs/azure-compute-docs, sizes/gpu-accelerated/<page>.md and includes/*-specs.md, read 2026-12-01,
unless the row says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedline.units import GB, GIB, TIB


@dataclass(frozen=True)
class Size:
    """One VM size. Bytes are bytes, `nic_bits_per_s` is the documented front-end network bandwidth, not InfiniBand.

    `nvme_read_bytes_per_s` is what one local NVMe disk is *planned* with; no trustworthy public figure of these
    disks exists, so it is conservative and marked as an assumption. `disk_bytes_per_s` is the most all managed disks
    together move (uncached), `temp_disk_bytes` the SCSI temporary disk, which is never the cache. No ND page lists
    Trusted Launch, and the GPU driver's modules are unsigned: `security_type` stays Standard, `secure_boot` off.
    `proven` = this project has handed off nodes of it.
    """

    name: str
    gpus: int
    gpu_name: str
    vcpus: int
    memory_bytes: int
    nvme_count: int
    nvme_bytes: int
    nvme_read_bytes_per_s: float
    nic_bits_per_s: float
    infiniband: bool
    arch: str
    source: str
    disk_bytes_per_s: float
    temp_disk_bytes: int
    proven: bool = True
    disk_controller: str = "SCSI"
    security_type: str = "Standard"
    secure_boot: bool = False
    read_on: str = "2026-12-01"

    @property
    def nvme_total_bytes(self) -> int:
        """All local NVMe together, in bytes."""
        return self.nvme_count * self.nvme_bytes

    @property
    def nic_bytes_per_s(self) -> float:
        """The front-end network in bytes/s."""
        return self.nic_bits_per_s / 8


OS_DISK_NVME = 1
"""How many whole NVMe disks an ephemeral OS disk takes away (enable-nvme-temp-faqs.yml: "one or several"; 128 GiB fit
one disk of every size here)."""

NVME_ASSUMED = 2.0 * GB
"""Assumed read rate of one local NVMe disk, bytes/s; measured per node by `fab validate`, never taken from here."""

_H100 = "nd-h100-v5 page; NVMe 28 TiB in 8 disks (azhpc ai-infrastructure README says 24 TiB)"
_PAGE = "size page of the same name"

SIZES: dict[str, Size] = {
    size.name: size
    for size in (
        Size(
            "Standard_ND96asr_v4",
            8,
            "NVIDIA A100 40GB",
            96,
            900 * GIB,
            8,
            960 * GB,
            NVME_ASSUMED,
            24e9,
            True,
            "x86_64",
            "ndasra100v4 page names a 6,000 GiB temp disk and no NVMe; azhpc-images tests expect 8",
            800e6,
            6000 * GIB,
        ),
        Size(
            "Standard_ND96amsr_A100_v4",
            8,
            "NVIDIA A100 80GB",
            96,
            1900 * GIB,
            8,
            960 * GB,
            NVME_ASSUMED,
            24e9,
            True,
            "x86_64",
            "ndmasra100v4 page names a 6,400 GiB temp disk and no NVMe; azhpc-images tests expect 8",
            800e6,
            6400 * GIB,
        ),
        Size(
            "Standard_ND96isr_H100_v5",
            8,
            "NVIDIA H100 80GB HBM3",
            96,
            1900 * GIB,
            8,
            28 * TIB // 8,
            NVME_ASSUMED,
            80e9,
            True,
            "x86_64",
            _H100,
            612e6,
            1024 * GIB,
        ),
        Size(
            "Standard_ND96isr_H200_v5",
            8,
            "NVIDIA H200",
            96,
            1850 * GIB,
            8,
            28 * TIB // 8,
            NVME_ASSUMED,
            80e9,
            True,
            "x86_64",
            _PAGE,
            612e6,
            1024 * GIB,
        ),
        Size(
            "Standard_ND96isr_MI300X_v5",
            8,
            "AMD Instinct MI300X",
            96,
            1850 * GIB,
            8,
            28 * TIB // 8,
            NVME_ASSUMED,
            80e9,
            True,
            "x86_64",
            _PAGE,
            1200e6,
            1000 * GIB,
            proven=False,
        ),
        Size(
            "Standard_ND128isr_NDR_GB200_v6",
            4,
            "NVIDIA GB200",
            128,
            900 * GIB,
            4,
            4 * TIB,
            NVME_ASSUMED,
            160e9,
            True,
            "aarch64",
            "specs include: 160 Gbps although the header says Mbps",
            1200e6,
            0 * GIB,
            proven=False,
            disk_controller="NVMe",
        ),
        Size(
            "Standard_ND128isr_GB300_v6",
            4,
            "NVIDIA GB300",
            128,
            864 * GIB,
            4,
            4 * TIB,
            NVME_ASSUMED,
            160e9,
            True,
            "aarch64",
            "specs include; ai-infrastructure-on-azure says 4 x 3.5 TB",
            1200e6,
            0 * GIB,
            proven=False,
            disk_controller="NVMe",
        ),
    )
}
