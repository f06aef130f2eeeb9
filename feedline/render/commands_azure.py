"""The lake by hand: its accounts, containers, identities and role assignments as az lines. Options: Azure CLI 2.69 and
newer (`az login --identity --client-id` came then)."""

from __future__ import annotations

import json
import shlex

from feedline.access import APPEND_ACTIONS, APPEND_DATA_ACTIONS, CONTRIBUTOR, READER, append_role_name
from feedline.contract import Account, Contract, Grant, Identity

ROLES = {"read": READER, "write": CONTRIBUTOR}


def infra(contract: Contract) -> list[str]:
    """Given a contract, return the az lines that make accounts, containers, identities and role assignments.

    What the contract does not say is asked of the shell (`${REDUNDANCY:?…}`). Network, machines, locks, soft delete,
    keys, policies and logs are not in it: `pulumi preview` lists them.
    """
    lines = [shlex.join(("az", "account", "set", "--subscription", contract.subscription_id))]
    for account in contract.accounts:
        lines += _account(contract, account)
    for identity in contract.identities:
        lines += _identity(contract, identity)
    return lines


def _account(contract: Contract, account: Account) -> list[str]:
    group = part(account.resource_id, "resourceGroups")
    tags = (f"feedline={contract.cluster}", f"classification={account.classification}")
    words = [
        *("az", "storage", "account", "create", "--name", account.name, "--resource-group", group),
        *("--location", contract.location, "--kind", "StorageV2", "--access-tier", "Hot"),
        *("--enable-hierarchical-namespace", str(account.hns).lower(), "--allow-shared-key-access", "false"),
        *("--min-tls-version", "TLS1_2", "--https-only", "true", "--allow-blob-public-access", "false"),
        *("--public-network-access", "Disabled", "--default-action", "Deny", "--bypass", "None"),
        *("--allow-cross-tenant-replication", "false", "--tags", *tags),
    ]
    sku = '--sku "Standard_${REDUNDANCY:?lake.redundancy of the settings: LRS, ZRS or GRS}"'
    made = ("az", "group", "create", "--name", group, "--location", contract.location)
    return [
        shlex.join(made),
        f"{shlex.join(words)} {sku}",
        *(_container(account, group, c) for c in account.containers),
    ]


def _container(account: Account, group: str, container: str) -> str:
    """Through ARM (`container-rm`): the data plane of an account without a public network answers nobody out here."""
    where = ("--storage-account", account.name, "--resource-group", group, "--public-access", "off")
    return shlex.join(("az", "storage", "container-rm", "create", "--name", container, *where))


def _identity(contract: Contract, identity: Identity) -> list[str]:
    group, name = part(identity.resource_id, "resourceGroups"), identity.resource_id.rsplit("/", 1)[-1]
    made = ("az", "identity", "create", "--name", name, "--resource-group", group, "--location", contract.location)
    lines = [shlex.join(made)]
    if any(grant.access == "append" for grant in identity.grants):
        lines.append(_append_role(contract, group))
    return lines + [_assignment(contract, identity, grant) for grant in identity.grants]


def _append_role(contract: Contract, group: str) -> str:
    scope = f"/subscriptions/{contract.subscription_id}/resourceGroups/{group}"
    role = {
        "Name": append_role_name(contract.cluster),
        "Description": "Read, add and write blobs, never delete them.",
        "Actions": list(APPEND_ACTIONS),
        "DataActions": list(APPEND_DATA_ACTIONS),
        "AssignableScopes": [scope],
    }
    return shlex.join(("az", "role", "definition", "create", "--role-definition", json.dumps(role)))


def _assignment(contract: Contract, identity: Identity, grant: Grant) -> str:
    role = ROLES.get(grant.access) or append_role_name(contract.cluster)
    account = contract.account(grant.account)
    scope = f"{account.resource_id}/blobServices/default/containers/{grant.container}"
    return shlex.join(
        (
            *("az", "role", "assignment", "create", "--assignee-object-id", identity.principal_id),
            *("--assignee-principal-type", "ServicePrincipal", "--role", role, "--scope", scope),
        )
    )


def part(resource_id: str, kind: str) -> str:
    """Given a resource id and a segment's name (`resourceGroups`), return what stands behind it, or "" if nothing."""
    words = resource_id.split("/")
    return words[words.index(kind) + 1] if kind in words[:-1] else ""
