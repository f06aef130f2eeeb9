"""What the data's classification decides: the one table. Settings refuse what it does not allow; infra builds what it
says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What a class asks for.

    `redundancy` = kinds of copies allowed; `customer_key` = a customer-managed key is required; `access` = ways in
    for operators; `named_regions` = governance.allowed_regions must be given; `cache` = least encryption of the local
    cache (`platform`: as Azure does it, `host`: encryption at host, which covers temporary and OS disks end to end);
    `soft_delete_days` = how long a deleted blob can be brought back; `log_reads` = every read is logged.
    """

    redundancy: tuple[str, ...]
    customer_key: bool
    access: tuple[str, ...]
    named_regions: bool
    cache: str
    soft_delete_days: int
    log_reads: bool


_ANY_WAY = ("vpn", "jump", "bastion", "command")

TABLE: dict[str, Rules] = {
    "public": Rules(("LRS", "ZRS", "GRS"), False, _ANY_WAY, False, "platform", 7, False),
    "internal": Rules(("LRS", "ZRS", "GRS"), False, _ANY_WAY, False, "platform", 7, False),
    "confidential": Rules(("LRS", "ZRS"), False, ("vpn", "bastion", "command"), False, "host", 30, False),
    "restricted": Rules(("LRS", "ZRS"), True, ("bastion", "command"), True, "host", 90, True),
}
"""Every class keeps the public network, account keys and anonymous access closed: those are not for choosing."""

CLASSES = tuple(TABLE)


def of(name: str) -> Rules:
    """Given a class, return what it asks for. Raise KeyError for a class that is not in the table."""
    return TABLE[name]
