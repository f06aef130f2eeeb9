"""What this subscription may have: rights, quota, sizes on offer, and how much of them a region has left.

Kept in `subscription.json` beside the cloud's state, so that a person or a test can make the day a bad one while it
runs. Refusals are in Azure's words: "Resolve errors for SKU not available", "Resolve errors for resource quotas",
"Troubleshoot allocation failures" (Microsoft Learn), read 2026-12-01.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.cloud import sizes
from sandbox.cloud.machines import INSTANCE, INSTANCE_NIC, SCALE_SET, VM
from sandbox.cloud.refusal import Refusal

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

PLENTY = 100_000
COUNTED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "microsoft.network": {
        "VirtualNetworks": ("Microsoft.Network/virtualNetworks",),
        "NetworkSecurityGroups": ("Microsoft.Network/networkSecurityGroups",),
        "PublicIPAddresses": ("Microsoft.Network/publicIPAddresses",),
        "NetworkInterfaces": ("Microsoft.Network/networkInterfaces", INSTANCE_NIC),
    },
    "microsoft.storage": {"StorageAccounts": ("Microsoft.Storage/storageAccounts",)},
}
"""What a region counts, by provider: names as Get-AzNetworkUsage and Get-AzStorageUsage give them, and the types."""
PROVIDERS = ("Compute", "Network", "Storage", "ManagedIdentity", "OperationalInsights", "Insights", "KeyVault")
CALLER = "00000000-0000-0000-0000-00000000feed"


@dataclass(frozen=True)
class Facts:
    """`cores` = quota by family (PLENTY where none is named); `left` = how many VMs of a size the region still has;
    `not_offered` = sizes that this subscription does not get; `reader` = the caller may read and nothing else;
    `limits` = how many of a resource a region grants, by its name in ARM's usages (`StorageAccounts`); `unregistered` =
    resource providers that nobody registered;
    `network_s` = seconds that a write on a network takes, during which Azure refuses another on it."""

    cores: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    not_offered: tuple[str, ...] = ()
    reader: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    unregistered: tuple[str, ...] = ()
    network_s: float = 0.0


def read(file: Path) -> Facts:
    """Given the file, return the facts in it; without one everything is granted."""
    raw = json.loads(file.read_text()) if file.exists() else {}
    known = {f.name for f in fields(Facts)}
    if unknown := sorted(set(raw) - known):
        raise ValueError(f"{file}: {', '.join(unknown)} unknown (known: {', '.join(sorted(known))})")
    lists = {name: tuple(raw.get(name, ())) for name in ("not_offered", "unregistered")}
    return Facts(**{**raw, **lists})


def may(facts: Facts, method: str, path: str) -> None:
    """Raise Refusal when the caller has no right to change anything."""
    # Asking for a free name is a POST, and a read: Microsoft.Storage/checknameavailability/read.
    if not facts.reader or method == "GET" or path.lower().endswith("/checknameavailability"):
        return
    _, found, tail = path.strip("/").rpartition("/providers/")
    words = tail.split("/")
    kind = "/".join([words[0], *words[1::2]]) if found else "Microsoft.Resources/subscriptions/resourceGroups"
    verb = {"DELETE": "delete", "POST": "action"}.get(method, "write")
    raise Refusal(
        403,
        "AuthorizationFailed",
        f"The client '{CALLER}' with object id '{CALLER}' does not have authorization to perform action "
        f"'{kind}/{verb}' over scope '{path}' or the scope is invalid. If access was recently granted, please refresh "
        "your credentials.",
    )


def used_cores(cloud: Cloud, location: str, family: str) -> int:
    """Return the cores of a family that the VMs and scale sets of a location have."""
    total = 0
    for vm in cloud.list(VM):
        size = sizes.find(str((vm["properties"].get("hardwareProfile") or {}).get("vmSize", "")))
        if size and vm.get("location") == location and size.family == family:
            total += size.vcpus
    for scale_set in cloud.list(SCALE_SET):
        sku = scale_set.get("sku") or {}
        size = sizes.find(str(sku.get("name", "")))
        if size and scale_set.get("location") == location and size.family == family:
            total += size.vcpus * int(sku.get("capacity") or 0)
    return total


def admit(cloud: Cloud, location: str, name: str, size: sizes.VmSize, more: int) -> None:
    """Refuse VMs of a size that is not offered, or whose cores are more than the quota."""
    facts = cloud.subscription()
    if name.lower() in {one.lower() for one in facts.not_offered}:
        raise Refusal(
            409,
            "SkuNotAvailable",
            f"The requested size for resource is currently not available in location '{location}' zones '' for "
            f"subscription. Please try another size or deploy to a different location or zones. ({name}) "
            "See https://aka.ms/azureskunotavailable for details.",
        )
    limit, used = facts.cores.get(size.family, PLENTY), used_cores(cloud, location, size.family)
    needed = size.vcpus * more
    if more > 0 and used + needed > limit:
        raise Refusal(
            409,
            "OperationNotAllowed",
            f"Operation could not be completed as it results in exceeding approved {size.family} Cores quota. "
            f"Additional details - Deployment Model: Resource Manager, Location: {location}, Current Limit: {limit}, "
            f"Current Usage: {used}, Additional Required: {needed}, (Minimum) New Limit Required: {used + needed}. "
            "Submit a request for Quota increase.",
        )


def allocate(cloud: Cloud, machine: Mapping[str, Any], placing: Collection[str]) -> None:
    """Raise Refusal when the region has no more of this machine's size: the VM exists then, and is Failed.

    `left` counts the machines that have a place: those that succeeded, and those being placed (ids in lower case).
    """
    name = _size(machine)
    left = {size.lower(): count for size, count in cloud.subscription().left.items()}.get(name.lower())
    if left is None:
        return
    placed = [
        m
        for kind in (VM, INSTANCE)
        for m in cloud.list(kind)
        if _size(m).lower() == name.lower()
        and m["id"].lower() != machine["id"].lower()
        and (m["properties"].get("provisioningState") == "Succeeded" or m["id"].lower() in placing)
    ]
    if len(placed) < left:
        return
    if machine["properties"].get("availabilitySet"):
        raise Refusal(
            409,
            "OverconstrainedAllocationRequest",
            "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too "
            "restrictive. Please remove some constraints and try again. Constraints applied are: - Availability Set "
            "- Networking Constraints (such as Accelerated Networking or IPv6) - VM Size",
        )
    raise Refusal(
        409,
        "AllocationFailed",
        "Allocation failed. We do not have sufficient capacity for the requested VM size in this region. Read more "
        "about improving likelihood of allocation success at http://aka.ms/allocation-guidance",
    )


def _size(machine: Mapping[str, Any]) -> str:
    profile = machine["properties"].get("hardwareProfile") or {}
    return str(profile.get("vmSize") or (machine.get("sku") or {}).get("name", ""))


def usages(cloud: Cloud, location: str) -> list[dict[str, Any]]:
    """Return what `az vm list-usage` shows of a location: cores by family, used and granted."""
    facts = cloud.subscription()
    families = sorted({size.family for size in sizes.SIZES.values()})
    rows = [(f, used_cores(cloud, location, f), facts.cores.get(f, PLENTY)) for f in families]
    rows.append(("cores", sum(used for _, used, _ in rows), facts.cores.get("cores", PLENTY)))
    return [_usage(*row) for row in rows]


def counted(cloud: Cloud, location: str, provider: str) -> list[dict[str, Any]]:
    """Return how many of its resources a provider counts in a location, and how many it grants."""
    limits = cloud.subscription().limits
    found = []
    for name, kinds in COUNTED[provider].items():
        used = sum(r.get("location", location) == location for kind in kinds for r in cloud.list(kind))
        found.append(_usage(name, used, limits.get(name, PLENTY)))
    return found


def _usage(name: str, used: int, limit: int) -> dict[str, Any]:
    return {"unit": "Count", "currentValue": used, "limit": limit, "name": {"value": name, "localizedValue": name}}


def providers(cloud: Cloud) -> list[dict[str, Any]]:
    """Return the resource providers as `az provider list` shows them."""
    missing = {name.lower() for name in cloud.subscription().unregistered}
    names = [f"Microsoft.{name}" for name in PROVIDERS]
    states = {name: "NotRegistered" if name.lower() in missing else "Registered" for name in names}
    return [{"namespace": name, "registrationState": state} for name, state in states.items()]


def skus(cloud: Cloud, location: str) -> list[dict[str, Any]]:
    """Return what `az vm list-skus` shows of a location: sizes, and why one cannot be had."""
    withheld = {name.lower() for name in cloud.subscription().not_offered}
    found = []
    for name, size in sizes.SIZES.items():
        capabilities = {"vCPUs": size.vcpus, "GPUs": size.gpus, "RdmaEnabled": size.rdma}
        restriction = {
            "type": "Location",
            "values": [location],
            "reasonCode": "NotAvailableForSubscription",
            "restrictionInfo": {"locations": [location]},
        }
        found.append(
            {
                "resourceType": "virtualMachines",
                "name": name,
                "family": size.family,
                "locations": [location],
                "capabilities": [{"name": key, "value": str(value)} for key, value in capabilities.items()],
                "restrictions": [restriction] if name.lower() in withheld else [],
            }
        )
    return found


def name_available(cloud: Cloud, name: str) -> dict[str, Any]:
    """Return what Azure says about the name of a storage account."""
    if any(account["name"] == name for account in cloud.list("Microsoft.Storage/storageAccounts")):
        told = f"The storage account named {name} is already taken."
        return {"nameAvailable": False, "reason": "AlreadyExists", "message": told}
    return {"nameAvailable": True}


def permissions(cloud: Cloud) -> list[dict[str, Any]]:
    """Return what the caller may do."""
    actions = ["*/read"] if cloud.subscription().reader else ["*"]
    return [{"actions": actions, "notActions": [], "dataActions": [], "notDataActions": []}]


def answer(cloud: Cloud, path: str, filtered: str) -> list[dict[str, Any]] | None:
    """Given a collection and its $filter, return what the subscription says of itself, or None for any other path."""
    words = path.rpartition("/providers/")[2].lower().split("/")
    if path.lower().rpartition("/")[2] == "providers":
        return providers(cloud)
    if words[0] in COUNTED and words[1:2] == ["locations"] and words[-1] == "usages":
        return counted(cloud, words[2], words[0])
    if words[0] == "microsoft.compute" and words[1:2] == ["locations"] and words[-1] == "usages":
        return usages(cloud, words[2])
    if words == ["microsoft.compute", "skus"]:
        return skus(cloud, filtered.rsplit("'", 2)[-2] if filtered.count("'") == 2 else "")
    return permissions(cloud) if words == ["microsoft.authorization", "permissions"] else None
