"""Who may do what: one managed identity per job, one role assignment per container, nothing above a container."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from infra.lake import Lake
from infra.naming import guid

READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers"

GRANTS = {
    "train": {"training-data": "read", "models": "read", "checkpoints": "append"},
    "ingest": {"raw": "write", "training-data": "write"},
}
"""What each identity is granted, by container. `append` is the custom role: read, add and write, but never delete."""


@dataclass(frozen=True)
class IdentitiesArgs:
    """What the identities need: the settings, their resource group, and the lake they are granted in."""

    settings: Settings
    group: pulumi.Input[str]
    lake: Lake


class Identities(pulumi.ComponentResource):
    """The user-assigned identities and their role assignments."""

    def __init__(self, name: str, args: IdentitiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:identity:Identities", name, None, opts)
        self._args = args
        self._roles = {
            "read": _builtin(args.settings, READER),
            "write": _builtin(args.settings, CONTRIBUTOR),
            "append": self._append_role(name),
        }
        self.identities = {job: self._identity(name, job) for job in GRANTS}
        self.assignments = [
            self._assign(name, job, container, access)
            for job, containers in GRANTS.items()
            for container, access in containers.items()
        ]
        self.register_outputs({})

    def _identity(self, name: str, job: str) -> az.managedidentity.UserAssignedIdentity:
        return az.managedidentity.UserAssignedIdentity(
            f"{name}-{job}",
            resource_group_name=self._args.group,
            resource_name_=f"id-{self._args.settings.cluster}-{job}",
            location=self._args.settings.location,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _append_role(self, name: str) -> pulumi.Input[str]:
        """A job that writes checkpoints must not be able to delete them: no built-in role says that."""
        settings = self._args.settings
        role = az.authorization.RoleDefinition(
            f"{name}-append",
            role_definition_id=guid("role", settings.cluster, "append"),
            scope=self._args.lake.group.id,
            role_name=f"Feedline {settings.cluster} checkpoint writer",
            role_type="CustomRole",
            description="Read, add and write blobs, never delete them.",
            assignable_scopes=[self._args.lake.group.id],
            permissions=[
                {
                    "actions": [f"{_BLOBS}/read"],
                    "not_actions": [],
                    "data_actions": [f"{_BLOBS}/blobs/{verb}" for verb in ("read", "add/action", "write")],
                    "not_data_actions": [],
                }
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        return role.id

    def _assign(self, name: str, job: str, container: str, access: str) -> az.authorization.RoleAssignment:
        return az.authorization.RoleAssignment(
            f"{name}-{job}-{container}",
            role_assignment_name=guid("assignment", self._args.settings.cluster, job, container, access),
            scope=self._args.lake.containers[container].id,
            role_definition_id=self._roles[access],
            principal_id=self.identities[job].principal_id,
            # Left out it would be `User`, which Azure refuses for an identity it just made.
            principal_type="ServicePrincipal",
            opts=pulumi.ResourceOptions(parent=self),
        )


def _builtin(settings: Settings, role: str) -> str:
    # The subscription form is what ARM answers with; any other form would show as a change at every refresh.
    return f"/subscriptions/{settings.subscription_id}/providers/Microsoft.Authorization/roleDefinitions/{role}"
