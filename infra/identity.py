"""Who may do what: one managed identity per job, one role assignment per container, nothing above a container."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.access import (
    APPEND_ACTIONS,
    APPEND_DATA_ACTIONS,
    CONTRIBUTOR,
    GRANTS,
    READER,
    append_role_name,
    condition,
)
from feedline.settings import Settings
from feedline.settings.people import Operator
from infra.lake import Lake
from infra.naming import builtin, guid


@dataclass(frozen=True)
class IdentitiesArgs:
    """What the identities need: the settings, and the lake they live with and are granted in."""

    settings: Settings
    lake: Lake


class Identities(pulumi.ComponentResource):
    """The user-assigned identities and the role assignments of identities and operators.

    They live with the lake and stay with it: the next cluster works as the same principals, with the same rights.
    """

    def __init__(self, name: str, args: IdentitiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:identity:Identities", name, None, opts)
        self._args = args
        subscription = args.settings.subscription_id
        self._roles = {
            "read": builtin(subscription, READER),
            "write": builtin(subscription, CONTRIBUTOR),
            "append": self._append_role(name),
        }
        self.identities = {job: self._identity(name, job) for job in GRANTS}
        self.assignments = [
            self._assign(name, job, account, container, access)
            for account, made in args.lake.accounts.items()
            for job, containers in GRANTS.items()
            for container, access in containers.items()
            if container in made.containers
        ]
        self.assignments += [self._operator(name, operator) for operator in args.settings.operators]
        self.register_outputs({})

    def role(self, access: str) -> pulumi.Input[str]:
        """Given `read`, `write` or `append`, return that role's id."""
        return self._roles[access]

    def _identity(self, name: str, job: str) -> az.managedidentity.UserAssignedIdentity:
        return az.managedidentity.UserAssignedIdentity(
            f"{name}-{job}",
            resource_group_name=self._args.lake.group.name,
            resource_name_=f"id-{self._args.settings.cluster}-{job}",
            location=self._args.settings.location,
            opts=pulumi.ResourceOptions(parent=self, protect=self._args.lake.kept),
        )

    def _append_role(self, name: str) -> str:
        """A job that writes checkpoints must not be able to delete them: no built-in role says that.

        Where bootstrap/ made the groups it made this role too: a pipeline may use it, and not change it.
        """
        settings, scope = self._args.settings, self._args.lake.group_id
        unique = guid("role", settings.cluster, "append")
        self._append: list[pulumi.Resource] = []
        if not settings.groups_exist:
            role = az.authorization.RoleDefinition(
                f"{name}-append",
                role_definition_id=unique,
                scope=scope,
                role_name=append_role_name(settings.cluster),
                role_type="CustomRole",
                description="Read, add and write blobs, never delete them.",
                assignable_scopes=[scope],
                permissions=[
                    {
                        "actions": list(APPEND_ACTIONS),
                        "not_actions": [],
                        "data_actions": list(APPEND_DATA_ACTIONS),
                        "not_data_actions": [],
                    }
                ],
                opts=pulumi.ResourceOptions(
                    parent=self, protect=self._args.lake.kept, depends_on=[self._args.lake.group]
                ),
            )
            self._append = [role]
        return f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{unique}"

    def _assign(
        self, name: str, job: str, account: str, container: str, access: str
    ) -> az.authorization.RoleAssignment:
        first = account == self._args.settings.lake.account
        where = () if first else (account,)  # the first account's assignments keep the names they always had
        return az.authorization.RoleAssignment(
            "-".join([name, job, container, *where]),
            role_assignment_name=guid("assignment", self._args.settings.cluster, job, container, access, *where),
            scope=self._args.lake.accounts[account].container_id(container),
            role_definition_id=self._roles[access],
            principal_id=self.identities[job].principal_id,
            # Left out it would be `User`, which Azure refuses for an identity it just made.
            principal_type="ServicePrincipal",
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=self._args.lake.kept,
                depends_on=[self._args.lake.accounts[account].containers[container], *self._append],
            ),
        )

    def _operator(self, name: str, operator: Operator) -> az.authorization.RoleAssignment:
        """People come from the settings; where a container is shared, a condition keeps them to their path."""
        only = condition(operator.prefix, operator.access) if operator.prefix else None
        return az.authorization.RoleAssignment(
            f"{name}-operator-{operator.name}-{operator.container}-{operator.access}",
            role_assignment_name=guid(
                "operator", self._args.settings.cluster, operator.object_id, operator.container, operator.access
            ),
            scope=self._args.lake.first.container_id(operator.container),
            role_definition_id=self._roles[operator.access],
            principal_id=operator.object_id,
            principal_type=operator.kind,
            description=f"operator {operator.name}",
            condition=only,
            condition_version="2.0" if only else None,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=self._args.lake.kept,
                depends_on=[self._args.lake.first.containers[operator.container]],
            ),
        )
