"""The contract: what was declared, as the one JSON document the runbook reads."""

from __future__ import annotations

from typing import Any

import pulumi

from feedline import contract as c
from feedline.names import CACHE_ROOT, CONTAINERS
from feedline.settings import Settings
from infra.identity import GRANTS, Identities
from infra.lake import Lake
from infra.nodes import Nodes


def contract(
    settings: Settings,
    lake: Lake,
    identities: Identities,
    nodes: Nodes,
    *,
    proxy_command: str | None,
    feed_plan: dict[str, Any],
) -> pulumi.Output[dict[str, Any]]:
    """Given everything declared, return contract v1 as an output, built by the type that reads it."""
    facts = pulumi.Output.all(
        account_id=lake.account.id,
        endpoints=lake.account.primary_endpoints,
        identities={
            job: {"client_id": i.client_id, "principal_id": i.principal_id, "id": i.id}
            for job, i in identities.identities.items()
        },
        machines={m.name: {"id": m.vm.id, "vm_id": m.vm.vm_id} for m in nodes.machines},
    )
    return facts.apply(lambda known: _contract(settings, nodes, known, proxy_command, feed_plan).as_dict())


def _contract(
    settings: Settings, nodes: Nodes, known: dict[str, Any], proxy_command: str | None, feed_plan: dict[str, Any]
) -> c.Contract:
    account = settings.lake.account
    return c.Contract(
        version=c.VERSION,
        environment=settings.environment,
        cloud="sandbox" if settings.is_sandbox else "AzureCloud",
        cluster=settings.cluster,
        location=settings.location,
        subscription_id=settings.subscription_id,
        accounts=(
            c.Account(
                name=account,
                resource_id=known["account_id"],
                hns=True,
                # Azurite has no dfs protocol; in Azure AzCopy ingests through blob too, and BlobFuse2 mounts by `adls`.
                protocol="blob" if settings.is_sandbox else "dfs",
                blob_endpoint=known["endpoints"]["blob"].rstrip("/"),
                dfs_endpoint=known["endpoints"]["dfs"].rstrip("/"),
                classification=settings.lake.classification,
                containers=CONTAINERS,
            ),
        ),
        identities=tuple(
            c.Identity(
                name=job,
                client_id=known["identities"][job]["client_id"],
                principal_id=known["identities"][job]["principal_id"],
                resource_id=known["identities"][job]["id"],
                grants=tuple(c.Grant(account, container, access) for container, access in containers.items()),
            )
            for job, containers in GRANTS.items()
        ),
        nodes=tuple(
            c.Node(
                m.name,
                m.role,
                m.identity,
                m.address,
                m.size,
                known["machines"][m.name]["id"],
                known["machines"][m.name]["vm_id"],
            )
            for m in nodes.machines
        ),
        ssh=_ssh(settings, proxy_command),
        mounts=_mounts(settings),
        workload=settings.workload,
        feed_plan=feed_plan,
    )


def _ssh(settings: Settings, proxy_command: str | None) -> c.Ssh:
    via = {"vpn": "direct", "jump": "jump", "bastion": "jump", "command": "command"}[settings.network.access]
    return c.Ssh(settings.nodes.admin_user, via, "ingest-0" if via == "jump" else None, proxy_command)


def _mounts(settings: Settings) -> tuple[c.Mount, ...]:
    def mount(name: str, read_only: bool, mode: str) -> c.Mount:
        return c.Mount(
            name, f"/mnt/{name}", settings.lake.account, name, "train", "train", read_only, mode, f"{CACHE_ROOT}/{name}"
        )

    # Checkpoints are never preloaded: preload makes a mount read-only.
    return (mount("training-data", True, settings.feed.mode), mount("checkpoints", False, "file_cache"))
