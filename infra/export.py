"""The contract: what was declared, as the one JSON document the runbook reads."""

from __future__ import annotations

from typing import Any

import pulumi

from feedline import contract as c
from feedline.access import GRANTS
from feedline.catalog.nd_series import OS_DISK_NVME, SIZES
from feedline.mounts import mounts
from feedline.settings import Settings
from infra.hot_tier import HotTier
from infra.identity import Identities
from infra.lake import Lake
from infra.nodes import Nodes
from infra.scale_set import PREFIX


def contract(
    settings: Settings,
    lake: Lake,
    hot: HotTier | None,
    identities: Identities,
    nodes: Nodes,
    *,
    proxy_command: str | None,
    feed_plan: dict[str, Any],
) -> pulumi.Output[dict[str, Any]]:
    """Given everything declared, return contract v1 as an output, built by the type that reads it."""
    accounts = {name: a.account for name, a in lake.accounts.items()} | (hot.mounted_accounts() if hot else {})
    facts = pulumi.Output.all(
        accounts={name: {"id": a.id, "endpoints": a.primary_endpoints} for name, a in accounts.items()},
        identities={
            job: {"client_id": i.client_id, "principal_id": i.principal_id, "id": i.id}
            for job, i in identities.identities.items()
        },
        machines={m.name: {"id": m.vm.id, "vm_id": m.vm.vm_id} for m in nodes.machines},
        scale_set=nodes.scale_set.resource.id if nodes.scale_set else None,
        lustre=hot.lustre() if hot else None,
    )
    held = {name: tuple(a.containers) for name, a in lake.accounts.items()} | (hot.held() if hot else {})
    return facts.apply(lambda known: _contract(settings, nodes, held, hot, known, proxy_command, feed_plan).as_dict())


def _contract(
    settings: Settings,
    nodes: Nodes,
    held: dict[str, tuple[str, ...]],
    hot: HotTier | None,
    known: dict[str, Any],
    proxy_command: str | None,
    feed_plan: dict[str, Any],
) -> c.Contract:
    return c.Contract(
        version=c.VERSION,
        environment=settings.environment,
        cloud="sandbox" if settings.is_sandbox else "AzureCloud",
        cluster=settings.cluster,
        location=settings.location,
        subscription_id=settings.subscription_id,
        accounts=tuple(
            _account(settings, name, containers, known["accounts"][name]) for name, containers in held.items()
        ),
        identities=tuple(
            c.Identity(
                name=job,
                client_id=known["identities"][job]["client_id"],
                principal_id=known["identities"][job]["principal_id"],
                resource_id=known["identities"][job]["id"],
                grants=tuple(_grants(job, held)),
            )
            for job in GRANTS
        ),
        nodes=tuple(_node(settings, m, known["machines"][m.name]) for m in nodes.machines),
        ssh=_ssh(settings, proxy_command),
        mounts=mounts(settings) + (hot.mounts() if hot else ()),
        workload=settings.workload,
        feed_plan=feed_plan,
        scale_sets=_scale_sets(settings, known["scale_set"]),
        lustre=known["lustre"],
    )


def _account(settings: Settings, name: str, containers: tuple[str, ...], known: dict[str, Any]) -> c.Account:
    hns = name in settings.accounts
    return c.Account(
        name=name,
        resource_id=known["id"],
        hns=hns,
        # Azurite has no dfs protocol; in Azure AzCopy ingests through blob too, and BlobFuse2 mounts by `adls`.
        protocol="dfs" if hns and not settings.is_sandbox else "blob",
        blob_endpoint=known["endpoints"]["blob"].rstrip("/"),
        dfs_endpoint=known["endpoints"]["dfs"].rstrip("/"),
        classification=settings.lake.classification,
        containers=containers,
    )


def _grants(job: str, held: dict[str, tuple[str, ...]]) -> list[c.Grant]:
    return [
        c.Grant(account, container, access)
        for account, containers in held.items()
        for container, access in GRANTS[job].items()
        if container in containers
    ]


def _expected(settings: Settings, role: str) -> dict[str, Any]:
    """What a node of this role must show of disks, where it differs from its size's catalogue entry."""
    if role != "train":
        return {}
    ephemeral = settings.nodes.os_disk == "ephemeral"
    return {
        "nvme_disks": SIZES[settings.nodes.size].nvme_count - OS_DISK_NVME if ephemeral else None,
        "cache_lun": 0 if settings.nodes.cache_disk_gib else None,
    }


def _node(settings: Settings, m: Any, known: dict[str, Any]) -> c.Node:
    return c.Node(
        m.name, m.role, m.identity, m.address, m.size, known["id"], known["vm_id"], **_expected(settings, m.role)
    )


def _scale_sets(settings: Settings, resource_id: str | None) -> tuple[c.ScaleSet, ...]:
    if resource_id is None:
        return ()
    size = settings.nodes.size
    return (c.ScaleSet("gpu", resource_id, "train", "train", size, PREFIX, **_expected(settings, "train")),)


def _ssh(settings: Settings, proxy_command: str | None) -> c.Ssh:
    via = {"vpn": "direct", "jump": "jump", "bastion": "jump", "command": "command"}[settings.network.access]
    return c.Ssh(settings.nodes.admin_user, via, "ingest-0" if via == "jump" else None, proxy_command)
