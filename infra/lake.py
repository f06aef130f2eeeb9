"""The data lake: an account that no key opens and no destroy removes, its containers, and the two private ways in."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.names import CONTAINERS
from feedline.settings import Settings
from infra.network import Network

SOFT_DELETE_DAYS = 7


@dataclass(frozen=True)
class LakeArgs:
    """What the lake needs: the settings, and the network whose endpoints subnet and zones it uses."""

    settings: Settings
    network: Network
    network_group: pulumi.Input[str]


class Lake(pulumi.ComponentResource):
    """One Data Lake Gen2 account in a resource group of its own with a CanNotDelete lock.

    Account and containers are protected and retained: a destroy of the cluster never touches data.
    """

    def __init__(self, name: str, args: LakeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:lake:Lake", name, None, opts)
        self._args = args
        # In the rehearsal nothing is worth keeping, and a sandbox that could not be destroyed would be a nuisance.
        self._kept = not args.settings.is_sandbox
        settings = args.settings
        self.group = az.resources.ResourceGroup(
            f"{name}-group",
            resource_group_name=f"rg-{settings.cluster}-lake",
            location=settings.location,
            tags={"feedline": settings.cluster, "classification": settings.lake.classification},
            opts=self._data(),
        )
        self.account = self._account(name)
        self.containers = {container: self._container(name, container) for container in CONTAINERS}
        for kind in ("blob", "dfs"):
            self._endpoint(name, kind)
        self.register_outputs({"account": self.account.id})

    def lock(self, name: str, after: list[pulumi.Resource]) -> None:
        """Lock the lake's resource group. `after` names what else is made below it: Azure checks a lock at every delete
        under its scope, role assignments included, so the lock comes last and goes first.
        """
        az.authorization.ManagementLockByScope(
            f"{name}-lock",
            scope=self.group.id,
            lock_name="data-is-kept",
            level="CanNotDelete",
            notes="Training data lives here. Removing this lock is a decision of its own.",
            opts=pulumi.ResourceOptions(
                parent=self, protect=self._kept, depends_on=[self.account, *self.containers.values(), *after]
            ),
        )

    def _data(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, protect=self._kept, retain_on_delete=self._kept)

    def _account(self, name: str) -> az.storage.StorageAccount:
        settings = self._args.settings
        account = az.storage.StorageAccount(
            f"{name}-account",
            resource_group_name=self.group.name,
            account_name=settings.lake.account,
            location=settings.location,
            kind="StorageV2",
            sku={"name": f"Standard_{settings.lake.redundancy}"},
            access_tier="Hot",
            is_hns_enabled=True,  # never leave it out: absent is a change, and a change replaces the account
            allow_shared_key_access=False,
            default_to_o_auth_authentication=True,
            minimum_tls_version="TLS1_2",
            enable_https_traffic_only=True,
            allow_blob_public_access=False,
            public_network_access="Disabled",
            allow_cross_tenant_replication=False,
            network_rule_set={"default_action": "Deny", "bypass": "None"},
            tags={"feedline": settings.cluster, "classification": settings.lake.classification},
            opts=self._data(),
        )
        az.storage.BlobServiceProperties(
            f"{name}-blob-service",
            resource_group_name=self.group.name,
            account_name=account.name,
            blob_services_name="default",
            delete_retention_policy={"enabled": True, "days": SOFT_DELETE_DAYS},
            container_delete_retention_policy={"enabled": True, "days": SOFT_DELETE_DAYS},
            opts=pulumi.ResourceOptions(parent=self),
        )
        return account

    def _container(self, name: str, container: str) -> az.storage.BlobContainer:
        return az.storage.BlobContainer(
            f"{name}-{container}",
            resource_group_name=self.group.name,
            account_name=self.account.name,
            container_name=container,
            public_access="None",
            opts=self._data(),
        )

    def _endpoint(self, name: str, kind: str) -> None:
        """HNS clients talk to both hosts, so both need a private way in."""
        settings, network = self._args.settings, self._args.network
        endpoint = az.network.PrivateEndpoint(
            f"{name}-{kind}-endpoint",
            resource_group_name=self._args.network_group,
            private_endpoint_name=f"pe-{settings.lake.account}-{kind}",
            location=settings.location,
            # A plain mapping on purpose: the SDK's SubnetArgs sends policies along that come back as a diff for ever.
            subnet={"id": network.endpoints.id},
            private_link_service_connections=[
                {"name": kind, "private_link_service_id": self.account.id, "group_ids": [kind]}
            ],
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["customDnsConfigs"]),
        )
        az.network.PrivateDnsZoneGroup(
            f"{name}-{kind}-zone-group",
            resource_group_name=self._args.network_group,
            private_endpoint_name=endpoint.name,
            private_dns_zone_group_name="default",
            private_dns_zone_configs=[{"name": kind, "private_dns_zone_id": network.zones[kind].id}],
            opts=pulumi.ResourceOptions(parent=self),
        )
