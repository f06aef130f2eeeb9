"""The data lake: its own locked resource group, one account (and replicas where one cannot serve), and what belongs to
the group as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from infra import groups
from infra.account import Account
from infra.encryption import Encryption
from infra.naming import group_id
from infra.network import Network


@dataclass(frozen=True)
class LakeArgs:
    """What the lake needs: the settings, and the network whose endpoints subnet and zones it uses."""

    settings: Settings
    network: Network
    network_group: pulumi.Input[str]


class Lake(pulumi.ComponentResource):
    """The accounts, by name, in a resource group of its own with a CanNotDelete lock.

    Accounts and containers are protected and retained: a destroy of the cluster never touches data. So is whatever else
    lies below the lock, since Azure would refuse to delete it: identities, assignments, logs. `kept` says whether.
    """

    def __init__(self, name: str, args: LakeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:lake:Lake", name, None, opts)
        settings = args.settings
        # In the rehearsal nothing is worth keeping, and a sandbox that could not be destroyed would be a nuisance.
        self.kept = not settings.is_sandbox
        self.group_name = f"rg-{settings.cluster}-lake"
        self.group_id = group_id(settings.subscription_id, self.group_name)
        data = pulumi.ResourceOptions(parent=self, protect=self.kept, retain_on_delete=self.kept)
        tags = {"feedline": settings.cluster, "classification": settings.lake.classification}
        self.group = groups.group(f"{name}-group", self.group_name, settings, tags, data)
        encryption = None
        if settings.lake.key:
            encryption = Encryption(f"{name}-encryption", settings, self.group.name, settings.lake.key, self)
        self.accounts: dict[str, Account] = {}
        for index, account in enumerate(settings.accounts):
            # The first keeps the names it always had: a changed logical name would be another resource.
            label = name if index == 0 else f"{name}-{account}"
            self.accounts[account] = Account(
                label,
                account,
                settings,
                self.group_name,
                self.group,
                args.network,
                args.network_group,
                encryption,
                data,
                self,
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
            opts=pulumi.ResourceOptions(parent=self, protect=self.kept, depends_on=[*made, *after]),
        )
