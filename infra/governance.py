"""Azure Policy: denies at our groups; if asked for, an audit of the subscription's other storage accounts."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

from feedline.governance import SHADOW_RULE, denies
from feedline.settings import Settings
from infra.lake import Lake


class Governance(pulumi.ComponentResource):
    """One assignment per policy and group. `below_the_lock` are those at the lake's group."""

    def __init__(
        self, name: str, settings: Settings, lake: Lake, groups: dict[str, az.resources.ResourceGroup]
    ) -> None:
        super().__init__("feedline:governance:Governance", name, None, None)
        own = pulumi.ResourceOptions(parent=self)
        self.below_the_lock: list[pulumi.Resource] = []
        for label, group in {**groups, "lake": lake.group}.items():
            for policy in denies(settings.regions):
                if label == "hot" and policy.name == "no-shared-key":
                    continue  # the named exception of the settings: Lustre's import signs with a key
                made = az.authorization.PolicyAssignment(
                    f"{name}-{label}-{policy.name}",
                    scope=group.id,
                    policy_assignment_name=policy.name,
                    display_name=f"Feedline {settings.cluster}: {policy.name}",
                    description=policy.says,
                    policy_definition_id=f"/providers/Microsoft.Authorization/policyDefinitions/{policy.definition}",
                    parameters={key: {"value": value} for key, value in policy.parameters.items()},
                    enforcement_mode="Default",
                    opts=pulumi.ResourceOptions(parent=self, protect=lake.kept and label == "lake"),
                )
                if label == "lake":
                    self.below_the_lock.append(made)
        if settings.governance.audit_shadow_data:
            self._shadow(name, settings, own)
        self.register_outputs({})

    def _shadow(self, name: str, settings: Settings, own: pulumi.ResourceOptions) -> None:
        definition = az.authorization.PolicyDefinition(
            f"{name}-shadow-definition",
            policy_definition_name=f"{settings.cluster}-shadow-data",
            display_name=f"Feedline {settings.cluster}: storage accounts outside the approved groups",
            policy_type="Custom",
            mode="Indexed",
            policy_rule=SHADOW_RULE,
            opts=own,
        )
        az.authorization.PolicyAssignment(
            f"{name}-shadow",
            scope=f"/subscriptions/{settings.subscription_id}",
            policy_assignment_name=f"{settings.cluster}-shadow",
            display_name=f"Feedline {settings.cluster}: shadow data (audit)",
            policy_definition_id=definition.id,
            enforcement_mode="Default",
            opts=own,
        )
