"""Names and ids that must be the same at every `up`."""

from __future__ import annotations

import uuid

_NAMESPACE = uuid.UUID("6f1d2c0e-6d0b-5b59-9c0a-feed11e00000")


def guid(*parts: str) -> str:
    """Given what makes something unique, return a GUID that depends on nothing else: known in preview, stable for ever.

    Role assignments need one. Identities enter by their logical name, not by principal id, which is unknown in
    previews.
    """
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


def group_id(subscription: str, group: str) -> str:
    """Given subscription and resource group, return the group's id. Known in previews, where resources' own ids are
    not: so the policy pack can judge what refers to it."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


def account_id(subscription: str, group: str, account: str) -> str:
    """Given subscription, resource group and name, return a storage account's id."""
    return f"{group_id(subscription, group)}/providers/Microsoft.Storage/storageAccounts/{account}"


def container_id(account: str, container: str) -> str:
    """Given a storage account's id and a container, return the container's id."""
    return f"{account}/blobServices/default/containers/{container}"


def builtin(subscription: str, role: str) -> str:
    """Given a subscription and a built-in role's GUID, return the role's id in the form that ARM answers with: any
    other form would show as a change at every refresh."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
