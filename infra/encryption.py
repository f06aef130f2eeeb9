"""The customer-managed key of the lake: an identity that may use it, and what an account says about it."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from feedline.settings.lake import Key
from infra.naming import builtin, guid

CRYPTO_USER = "e147488a-f6f5-4113-8e2d-b22465e65bf6"
"""Key Vault Crypto Service Encryption User: wrap and unwrap, nothing else."""


class Encryption(pulumi.ComponentResource):
    """`ready` is what an account must wait for: without the role, Azure refuses the account that names the key."""

    def __init__(
        self, name: str, settings: Settings, group: pulumi.Input[str], key: Key, parent: pulumi.Resource
    ) -> None:
        super().__init__("feedline:lake:Encryption", name, None, pulumi.ResourceOptions(parent=parent))
        self._key = key
        self._identity = az.managedidentity.UserAssignedIdentity(
            f"{name}-identity",
            resource_group_name=group,
            resource_name_=f"id-{settings.cluster}-encryption",
            location=settings.location,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ready = az.authorization.RoleAssignment(
            f"{name}-role",
            role_assignment_name=guid("assignment", settings.cluster, "encryption", key.vault_id),
            scope=f"{key.vault_id}/keys/{key.name}",
            role_definition_id=builtin(settings.subscription_id, CRYPTO_USER),
            principal_id=self._identity.principal_id,
            principal_type="ServicePrincipal",
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})

    def of_account(self) -> dict[str, Any]:
        """Return the account's arguments: who it is towards the vault, and which key it uses (always its newest
        version)."""
        vault = self._key.vault_id.rsplit("/", 1)[-1]
        return {
            "identity": {"type": "UserAssigned", "user_assigned_identities": [self._identity.id]},
            "encryption": {
                "key_source": "Microsoft.Keyvault",
                "require_infrastructure_encryption": True,
                "encryption_identity": {"encryption_user_assigned_identity": self._identity.id},
                "key_vault_properties": {
                    "key_name": self._key.name,
                    "key_vault_uri": f"https://{vault}.vault.azure.net",
                },
                "services": {
                    "blob": {"enabled": True, "key_type": "Account"},
                    "file": {"enabled": True, "key_type": "Account"},
                },
            },
        }
