"""Azure's role-based access control, as a pure decision over role assignments.

Built-in roles as Microsoft documents them (learn.microsoft.com, Azure built-in roles; GUIDs are the same in every
tenant).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox.cloud.ids import is_below

_CONTAINERS = "Microsoft.Storage/storageAccounts/blobServices/containers"
_KEY = "Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action"
_CONTRIBUTE = [f"{_CONTAINERS}/blobs/{verb}" for verb in ("delete", "read", "write", "move/action", "add/action")]


def _role(name: str, actions: list[str], data: list[str], without: list[str] | None = None) -> dict[str, Any]:
    granted = {"actions": actions, "notActions": without or [], "dataActions": data, "notDataActions": []}
    return {"roleName": name, "permissions": [granted]}


BUILT_IN = {
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": _role(
        "Storage Blob Data Reader", [f"{_CONTAINERS}/read", _KEY], [f"{_CONTAINERS}/blobs/read"]
    ),
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": _role(
        "Storage Blob Data Contributor",
        [f"{_CONTAINERS}/delete", f"{_CONTAINERS}/read", f"{_CONTAINERS}/write", _KEY],
        _CONTRIBUTE,
    ),
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": _role(
        "Storage Blob Data Owner", [f"{_CONTAINERS}/*", _KEY], [f"{_CONTAINERS}/blobs/*"]
    ),
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": _role("Reader", ["*/read"], []),
    "b24988ac-6180-42a0-ab88-20f7382dd24c": _role(
        "Contributor", ["*"], [], ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"]
    ),
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": _role("Owner", ["*"], []),
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": _role(
        "Role Based Access Control Administrator",
        ["Microsoft.Authorization/roleAssignments/write", "Microsoft.Authorization/roleAssignments/delete", "*/read"],
        [],
    ),
    "12338af0-0e69-4776-bea7-57ae8d297424": _role("Key Vault Crypto User", [], ["Microsoft.KeyVault/vaults/keys/*"]),
    "e147488a-f6f5-4113-8e2d-b22465e65bf6": _role(
        "Key Vault Crypto Service Encryption User",
        [],
        [f"Microsoft.KeyVault/vaults/keys/{verb}" for verb in ("read", "wrap/action", "unwrap/action")],
    ),
    "17d1049b-9a84-46fb-8f53-869881c3d3ab": _role(
        "Storage Account Contributor", ["Microsoft.Storage/storageAccounts/*"], []
    ),
}


def role_guid(role_definition_id: str) -> str:
    """Given a role definition's id in any of its forms, return the GUID at its end."""
    return role_definition_id.rstrip("/").rsplit("/", 1)[-1].lower()


def decide(
    principal_id: str,
    action: str,
    scope: str,
    assignments: Iterable[Mapping[str, Any]],
    role: Callable[[str], Mapping[str, Any] | None],
    *,
    data: bool,
) -> bool:
    """Given the assignments in force and a look-up of role definitions by GUID, return whether the principal may.

    An assignment counts at its scope and everything below. `data` chooses dataActions over actions.
    """
    for assignment in assignments:
        properties = assignment["properties"]
        if properties["principalId"] != principal_id or not is_below(scope, properties["scope"]):
            continue
        if properties.get("condition"):
            continue  # conditions are not simulated: what one would grant is refused, never the other way round
        definition = role(role_guid(properties["roleDefinitionId"]))
        for permission in (definition or {}).get("permissions") or []:
            granted, withheld = ("dataActions", "notDataActions") if data else ("actions", "notActions")
            if _matches(action, permission.get(granted)) and not _matches(action, permission.get(withheld)):
                return True
    return False


def _matches(action: str, patterns: Iterable[str] | None) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns or ())
