"""The data lake: its own locked resource group, one account (and replicas where one cannot serve), and what belongs to
the group as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from infra.account import Account
from infra.encryption import Encryption
from infra.network import Network


@dataclass(frozen=True)
class LakeArgs:
    """What the lake needs: the settings, and the network whose endpoints subnet and zones it uses."""

    settings: Settings
    network: Network
    network_group: pulumi.Input[str]


class Lake(pulumi.ComponentResource):
    """The accounts, by name, in a resource group of its own with a CanNotDelete lock.

    Accounts and containers are protected and retained: a destroy of the cluster never touches data.
    """

    def __init__(self, name: str, args: LakeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:lake:Lake", name, None, opts)
        settings = args.settings
        # In the rehearsal nothing is worth keeping, and a sandbox that could not be destroyed would be a nuisance.
        self._kept = not settings.is_sandbox
        data = pulumi.ResourceOptions(parent=self, protect=self._kept, retain_on_delete=self._kept)
        self.group = az.resources.ResourceGroup(
            f"{name}-group",
            resource_group_name=f"rg-{settings.cluster}-lake",
            location=settings.location,
            tags={"feedline": settings.cluster, "classification": settings.lake.classification},
            opts=data,
        )
        encryption = None
        if settings.lake.key:
            encryption = Encryption(f"{name}-encryption", settings, self.group.name, settings.lake.key, self)
        self.accounts: dict[str, Account] = {}
        for index, account in enumerate(settings.accounts):
            # The first keeps the names it always had: a changed logical name would be another resource.
            label = name if index == 0 else f"{name}-{account}"
            self.accounts[account] = Account(
                label, account, settings, self.group.name, args.network, args.network_group, encryption, data, self
            )
        self.first = self.accounts[settings.lake.account]
        self.register_outputs({"account": self.first.account.id})

    def lock(self, name: str, after: list[pulumi.Resource]) -> None:
        """Lock the lake's resource group. `after` names what else is made below it: Azure checks a lock at every delete
        under its scope, role assignments included, so the lock comes last and goes first.
        """
        made = [r for account in self.accounts.values() for r in (account.account, *account.containers.values())]
        az.authorization.ManagementLockByScope(
            f"{name}-lock",
            scope=self.group.id,
            lock_name="data-is-kept",
            level="CanNotDelete",
            notes="Training data lives here. Removing this lock is a decision of its own.",
            opts=pulumi.ResourceOptions(parent=self, protect=self._kept, depends_on=[*made, *after]),
        )
