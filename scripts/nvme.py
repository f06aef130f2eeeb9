"""Task `nvme`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=True, by_hand=True)
def nvme(arguments: Arguments, wipe: str = "") -> int:
    """Make the local NVMe disks one file system at /mnt/resource, and have it made again after every deallocation.

    Steps: find the disks, never OS, data or unknown ones -> file system, label, mount -> a unit that does it at boot.
    A disk that holds something else is refused; --wipe gives it up, and asks for the cluster's name.
    Usage: fab nvme [--nodes gpu-0]
    """
    from scripts.verdict_of import one_gate

    devices = [device.strip() for device in wipe.split(",") if device.strip()]
    return one_gate(arguments, "nvme", {"wipe": devices} if devices else {})
