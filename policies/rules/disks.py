"""Disks: nothing that turns stands between the data and a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.read import MACHINES, inside, profile
from policies.rule import Properties, rule

_HDD = "Standard_LRS"


def _os_disk(**disk: object) -> dict[str, Any]:
    return {"storageProfile": {"osDisk": disk}}


@rule(
    "compute-no-hdd",
    MACHINES,
    "An HDD in the path starves GPUs.",
    "Premium_LRS",
    passes=_os_disk(managedDisk={"storageAccountType": "Premium_LRS"}),
    fails=_os_disk(managedDisk={"storageAccountType": _HDD}),
)
def no_hdd(p: Properties) -> Iterator[str]:
    storage = inside(profile(p), "storageProfile")
    if inside(storage, "osDisk", "managedDisk").get("storageAccountType") == _HDD:
        yield f"OS disk is an HDD ({_HDD})"
    for disk in storage.get("dataDisks") or []:
        if inside(disk, "managedDisk").get("storageAccountType") == _HDD:
            yield f"data disk at LUN {disk.get('lun')} is an HDD ({_HDD})"


@rule(
    "compute-no-hdd-disk",
    ("compute:Disk",),
    "An HDD in the path starves GPUs.",
    "Premium_LRS or PremiumV2_LRS",
    passes={"sku": {"name": "Premium_LRS"}},
    fails={"sku": {"name": _HDD}},
)
def no_hdd_disk(p: Properties) -> Iterator[str]:
    if inside(p, "sku").get("name") == _HDD:
        yield f"is an HDD ({_HDD}): 60 MB/s starves eight GPUs"


@rule(
    "compute-ephemeral-os",
    MACHINES,
    "An ephemeral OS disk is cut from the local disks, and goes with the host.",
    'diff_disk_settings={"option": "Local", "placement": "NvmeDisk"}, caching="ReadOnly"',
    passes=_os_disk(caching="ReadOnly", diffDiskSettings={"option": "Local", "placement": "NvmeDisk"}),
    fails=_os_disk(caching="ReadWrite", diffDiskSettings={"option": "Local"}),
)
def ephemeral_os(p: Properties) -> Iterator[str]:
    disk = inside(profile(p), "storageProfile", "osDisk")
    settings = disk.get("diffDiskSettings") or {}
    if not settings.get("option"):
        return
    if not settings.get("placement"):
        yield "the ephemeral OS disk's place is Azure's choice: say which disk the cache does without"
    if disk.get("caching") != "ReadOnly":
        yield f"the ephemeral OS disk needs caching ReadOnly, not {disk.get('caching') or 'the default'}"
    if disk.get("managedDisk"):
        yield "the OS disk is both ephemeral and a managed disk"


@rule(
    "compute-declared-data-disks",
    MACHINES,
    "Only a disk that is declared by LUN may be formatted.",
    "a lun of its own for every data disk, and create_option Empty",
    passes={"storageProfile": {"dataDisks": [{"lun": 0, "createOption": "Empty"}]}},
    fails={"storageProfile": {"dataDisks": [{"lun": 0, "createOption": "Attach"}]}},
)
def declared_data_disks(p: Properties) -> Iterator[str]:
    disks = [*(inside(profile(p), "storageProfile").get("dataDisks") or [])]
    luns = [disk.get("lun") for disk in disks]
    if None in luns or len(set(luns)) < len(luns):
        yield f"its data disks have the LUNs {', '.join(str(lun) for lun in luns)}"
    for disk in disks:
        if disk.get("createOption") != "Empty":
            yield f"the disk at LUN {disk.get('lun')} may hold somebody's data ({disk.get('createOption')})"
