"""Is the cache disk the local NVMe, and will it be there after the next boot?"""

from __future__ import annotations

from feedline.facts import Nvme
from feedline.names import NVME_UNIT, RESOURCE_DISK
from feedline.units import human_bytes
from feedline.verdict import Status, Verdict


def judge(facts: Nvme, node: str) -> list[Verdict]:
    """Given the facts, return the verdicts on the mounted disk and on its unit."""
    on_nvme = any(disk.mounted == RESOURCE_DISK and disk.local and not disk.holds_root for disk in facts.disks)
    size = sum(d.bytes for d in facts.disks if d.local and d.node)
    disk = Verdict(
        "nvme",
        "local NVMe",
        node,
        Status.PASS if on_nvme else Status.FAIL,
        "OK" if on_nvme else "NOT_ON_NVME",
        f"{RESOURCE_DISK} is {facts.mounted_source} ({facts.mounted_type}), "
        f"{human_bytes(size)}, {human_bytes(facts.free_bytes)} free"
        if facts.mounted_source
        else f"nothing is mounted at {RESOURCE_DISK}",
        "" if on_nvme else "fab nvme",
        facts.free_bytes,
        None,
        None,
        "B",
        {"source": facts.mounted_source, "type": facts.mounted_type},
    )
    boots = facts.unit_current and facts.unit_enabled and facts.tool_current
    unit = Verdict(
        "nvme",
        "at every boot",
        node,
        Status.PASS if boots else Status.FAIL,
        "OK" if boots else "NOT_AT_BOOT",
        f"{NVME_UNIT} is enabled" if boots else f"{NVME_UNIT} is missing, changed or disabled",
        "" if boots else "fab nvme",
    )
    return [disk, unit]
