"""`feedline:lake`: the accounts, what the data is, and how long it stays."""

from __future__ import annotations

from dataclasses import dataclass

from feedline import checks
from feedline.catalog.regions import PAIRS
from feedline.classification import CLASSES, of
from feedline.names import CONTAINERS
from feedline.schema import key as say

REDUNDANCY = ("LRS", "ZRS", "GRS")
TIERS = ("cool", "cold", "archive", "delete")
SEALED = ("training-data", "models")
"""Containers whose blobs are written once: their age says nothing about their use, only the last access does."""


@dataclass(frozen=True)
class Lifecycle:
    """One lifecycle rule of a container."""

    container: str = say("The container it is for; never checkpoints.", "raw", checks.one_of(*CONTAINERS))
    days: int = say("After how many days.", 90, checks.between(1, 36500, "days"))
    to: str = say("What happens: cool, cold, archive (hours to restore) or delete.", "cool", checks.one_of(*TIERS))
    by: str = say(
        "What is counted: `age` (last change) or `last_access` (the only sensible one for sealed data).",
        "last_access",
        checks.one_of("age", "last_access"),
        "last_access",
    )


@dataclass(frozen=True)
class Worm:
    """Write once, read many: a container whose blobs nobody can change or delete for some days."""

    container: str = say(
        "The container.", "models", checks.one_of(*(c for c in CONTAINERS if c not in ("checkpoints", "training-data")))
    )
    days: int = say("For how many days after a blob was made.", 365, checks.between(1, 146_000, "days"))


@dataclass(frozen=True)
class Key:
    """The customer-managed key."""

    vault_id: str = say(
        "Resource id of the Key Vault (purge protection on).",
        "/subscriptions/…/vaults/kv-feedline",
        checks.resource_id("vaults"),
    )
    name: str = say(
        "Name of the key; the newest version is used.", "lake", checks.matches(r"[0-9A-Za-z-]{1,127}", "a name")
    )


@dataclass(frozen=True)
class Lake:
    """`feedline:lake`"""

    account: str = say(
        "Name of the Data Lake Gen2 account; unique in all of Azure.",
        "feedlinedev01",
        checks.account,
    )
    redundancy: str = say("LRS, ZRS, or GRS where data may leave the region.", "ZRS", checks.one_of(*REDUNDANCY), "ZRS")
    classification: str = say(
        "What the data is: decides keys, copies, cache encryption and retention (feedline/classification.py).",
        "internal",
        checks.one_of(*CLASSES),
        "internal",
    )
    egress_gbps: float = say(
        "Egress limit of the account in Gbit/s if Microsoft raised it for you; 0 = the region's default.",
        400.0,
        checks.between(0, 10_000, "Gbit/s"),
        0.0,
    )
    replicas: tuple[str, ...] = say(
        "Further accounts that each hold a full copy of training-data; nodes are dealt to them in turn. Only where one"
        " account cannot serve.",
        ["feedlinedev02"],
        checks.each(checks.account),
        (),
    )
    key: Key | None = say("Customer-managed key; the class `restricted` asks for one.", None, None, None)
    lifecycle: tuple[Lifecycle, ...] = say("What moves to cheaper tiers, or goes, and when.", None, None, ())
    worm: tuple[Worm, ...] = say("Containers with an immutability policy.", None, None, ())
    log_reads: bool = say(
        "Log every read (StorageRead); the preview says what it costs. The class `restricted` has it on.",
        False,
        None,
        False,
    )
    adopt: str = say(
        "Resource id of an existing HNS account to take over instead of making one; its settings are put right.",
        "/subscriptions/…/storageAccounts/feedlinedev01",
        checks.optional(checks.resource_id("storageAccounts")),
        "",
    )


def problems(lake: Lake, location: str, allowed_regions: tuple[str, ...]) -> list[str]:
    """Given the lake and where it is, return what its classification and Azure do not allow."""
    found, rules, pair = [], of(lake.classification), PAIRS.get(location)
    if lake.redundancy not in rules.redundancy:
        found.append(
            f"feedline:lake.redundancy: GRS copies {lake.classification} data to {pair or 'its paired region'}"
            f" (hint: {' or '.join(rules.redundancy)})"
        )
    if lake.redundancy == "GRS" and allowed_regions and pair not in allowed_regions:
        found.append(
            f"feedline:lake.redundancy: GRS copies data to {pair or 'a region nobody named'}, "
            "which governance.allowed_regions does not allow (hint: ZRS)"
        )
    if rules.customer_key and lake.key is None:
        found.append(f"feedline:lake.key: {lake.classification} data needs a customer-managed key")
    for index, rule in enumerate(lake.lifecycle):
        where = f"feedline:lake.lifecycle[{index}]"
        if rule.container == "checkpoints":
            found.append(f"{where}.container: checkpoints in use are pruned by count, not by a lifecycle rule")
        if rule.container in SEALED and rule.by == "age":
            found.append(f"{where}.by: {rule.container} is written once and read for years (hint: last_access)")
    names = [lake.account, *lake.replicas]
    if len(set(names)) < len(names):
        found.append("feedline:lake.replicas: an account is named twice")
    if lake.adopt and lake.adopt.rsplit("/", 1)[-1] != lake.account:
        found.append(f"feedline:lake.adopt: is the account {lake.adopt.rsplit('/', 1)[-1]}, not {lake.account}")
    return found
