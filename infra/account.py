"""One Data Lake Gen2 account that no key opens, with its containers, its rules and its two private ways in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_azure_native as az

from feedline.classification import of
from feedline.names import CONTAINERS
from feedline.render.lifecycle import rules
from feedline.settings import Settings
from infra.encryption import Encryption
from infra.naming import account_id, container_id
from infra.network import Network


class Account:
    """The resources of one account, made under the lake's component: `account` and its `id`, `containers` by name."""

    def __init__(
        self,
        name: str,
        account: str,
        settings: Settings,
        group_name: str,
        group: az.resources.ResourceGroup,
        network: Network,
        network_group: pulumi.Input[str],
        encryption: Encryption | None,
        data: pulumi.ResourceOptions,
        parent: pulumi.Resource,
    ) -> None:
        self._settings, self._group, self._data, self._parent = settings, group.name, data, parent
        self.id = account_id(settings.subscription_id, group_name, account)
        self._network, self._network_group = network, network_group
        self.account = self._account(name, account, encryption)
        service = self._blob_service(name)
        # A replica holds copies of training-data only.
        kept = CONTAINERS if account == settings.lake.account else ("training-data",)
        self.containers = {container: self._container(name, container) for container in kept}
        self._lifecycle(name, kept, service)
        self._immutable(name, kept)
        for kind in ("blob", "dfs"):
            self._endpoint(name, account, kind)

    def _account(self, name: str, account: str, encryption: Encryption | None) -> az.storage.StorageAccount:
        settings = self._settings
        adopted = settings.lake.adopt if account == settings.lake.account else ""
        own: Mapping[str, Any] = encryption.of_account() if encryption else {}
        return az.storage.StorageAccount(
            f"{name}-account",
            resource_group_name=self._group,
            account_name=account,
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
            **own,
            opts=pulumi.ResourceOptions.merge(
                self._data,
                pulumi.ResourceOptions(import_=adopted or None, depends_on=[encryption.ready] if encryption else None),
            ),
        )

    def container_id(self, container: str) -> str:
        """Given one of the containers, return its id."""
        return container_id(self.id, container)

    def _blob_service(self, name: str) -> az.storage.BlobServiceProperties:
        days = of(self._settings.lake.classification).soft_delete_days
        tracked = any(rule.by == "last_access" for rule in self._settings.lake.lifecycle)
        return az.storage.BlobServiceProperties(
            f"{name}-blob-service",
            resource_group_name=self._group,
            account_name=self.account.name,
            blob_services_name="default",
            delete_retention_policy={"enabled": True, "days": days},
            container_delete_retention_policy={"enabled": True, "days": days},
            # Rules by last access count nothing unless Azure is told to remember accesses.
            last_access_time_tracking_policy={"enable": True, "name": "AccessTimeTracking"} if tracked else None,
            opts=self._data,  # deleting it would put soft delete back to its default: off
        )

    def _container(self, name: str, container: str) -> az.storage.BlobContainer:
        return az.storage.BlobContainer(
            f"{name}-{container}",
            resource_group_name=self._group,
            account_name=self.account.name,
            container_name=container,
            public_access="None",
            opts=self._data,
        )

    def _lifecycle(self, name: str, kept: tuple[str, ...], service: pulumi.Resource) -> None:
        """All rules in one object: Azure has one management policy per account."""
        wanted = rules([rule for rule in self._settings.lake.lifecycle if rule.container in kept])
        if not wanted:
            return
        az.storage.ManagementPolicy(
            f"{name}-lifecycle",
            resource_group_name=self._group,
            account_name=self.account.name,
            management_policy_name="default",
            policy={"rules": wanted},
            opts=pulumi.ResourceOptions.merge(
                self._data, pulumi.ResourceOptions(depends_on=[service, *self.containers.values()])
            ),
        )

    def _immutable(self, name: str, kept: tuple[str, ...]) -> None:
        for worm in self._settings.lake.worm:
            if worm.container not in kept:
                continue
            az.storage.BlobContainerImmutabilityPolicy(
                f"{name}-{worm.container}-worm",
                resource_group_name=self._group,
                account_name=self.account.name,
                container_name=self.containers[worm.container].name,
                immutability_policy_name="default",
                immutability_period_since_creation_in_days=worm.days,
                allow_protected_append_writes=False,
                opts=self._data,
            )

    def _endpoint(self, name: str, account: str, kind: str) -> None:
        """HNS clients talk to both hosts, so both need a private way in."""
        endpoint = az.network.PrivateEndpoint(
            f"{name}-{kind}-endpoint",
            resource_group_name=self._network_group,
            private_endpoint_name=f"pe-{account}-{kind}",
            location=self._settings.location,
            # A plain mapping on purpose: the SDK's SubnetArgs sends policies along that come back as a diff for ever.
            subnet={"id": self._network.endpoints},
            private_link_service_connections=[{"name": kind, "private_link_service_id": self.id, "group_ids": [kind]}],
            opts=pulumi.ResourceOptions(
                parent=self._parent, ignore_changes=["customDnsConfigs"], depends_on=[self.account]
            ),
        )
        az.network.PrivateDnsZoneGroup(
            f"{name}-{kind}-zone-group",
            resource_group_name=self._network_group,
            private_endpoint_name=endpoint.name,
            private_dns_zone_group_name="default",
            private_dns_zone_configs=[{"name": kind, "private_dns_zone_id": self._network.zones[kind]}],
            opts=pulumi.ResourceOptions(parent=self._parent),
        )
