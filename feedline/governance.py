"""Azure Policy at our own groups: what must stay true even for what nobody deploys through us.

Built-in definitions by their GUIDs, which are the same in every tenant. Source: MicrosoftDocs azure-policy built-ins
(Azure/azure-policy, built-in-policies), read 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Assignment:
    """One policy at one of our groups: what it says, the definition's GUID, its parameters (name to value)."""

    name: str
    says: str
    definition: str
    parameters: Mapping[str, Any]


def denies(regions: tuple[str, ...]) -> tuple[Assignment, ...]:
    """Given the regions where resources may be, return what is denied at our groups."""
    deny = {"effect": "Deny"}
    return (
        Assignment(
            "allowed-locations",
            "Resources stay in the regions that the data may be in.",
            "e56962a6-4747-49cd-b67b-bf8b01975c4c",
            {"listOfAllowedLocations": [*regions, "global"]},
        ),
        Assignment(
            "no-shared-key",
            "Storage accounts refuse account keys.",
            "8c6a50c6-9ffd-4ae7-986f-5fa6111f9a54",
            deny,
        ),
        Assignment(
            "no-public-network",
            "Storage accounts have no public door.",
            "b2982f36-99f2-4db5-8eff-283140c09693",
            deny,
        ),
        Assignment(
            "no-anonymous-blobs",
            "Nobody reads blobs without an identity.",
            "4fa4b6c0-31ca-4c0d-b10d-24b96f62a751",
            {"effect": "deny"},
        ),
        Assignment(
            "blob-diagnostics",
            "Writes and deletes of blobs are logged.",
            "b4fe1a3b-0715-4c6c-a5ea-ffc33cf823cb",
            {"effect": "AuditIfNotExists"},
        ),
    )


SHADOW_RULE: dict[str, Any] = {
    "if": {
        "allOf": [
            {"field": "type", "equals": "Microsoft.Storage/storageAccounts"},
            {"field": "tags['feedline']", "exists": "false"},
        ]
    },
    "then": {"effect": "audit"},
}
"""A storage account that no cluster of ours owns may hold a copy of its data. Audit only: it never stops anybody."""
