"""Storage between the lake and the nodes, behind one setting: Azure Managed Lustre that imports from blobs, or a
premium block blob account."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

from feedline import contract as c
from feedline.names import CACHE_ROOT
from feedline.settings import Settings
from infra import groups
from infra.identity import Identities
from infra.naming import account_id, builtin, container_id, guid
from infra.network import Network

_LUSTRE_ROLES = {
    "17d1049b-9a84-46fb-8f53-869881c3d3ab": "storage-account-contributor",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "storage-blob-data-contributor",
}
"""What the HPC Cache resource provider needs on the account it imports from. Source: azure-stack-docs,
amlfs-prerequisites.md ("Access roles for blob integration"), read 2026-12-01."""


class HotTier(pulumi.ComponentResource):
    """Its own resource group and account. The lake's account is never opened for it."""

    def __init__(self, name: str, settings: Settings, network: Network, identities: Identities) -> None:
        super().__init__("feedline:hottier:HotTier", name, None, None)
        self._settings, self._own = settings, pulumi.ResourceOptions(parent=self)
        group = f"rg-{settings.cluster}-hot"
        self.id = account_id(settings.subscription_id, group, settings.hot_tier.account)
        self._lustre: az.storagecache.AmlFilesystem | None = None
        tags = {"feedline": settings.cluster, "classification": settings.lake.classification}
        self.group = groups.group(f"{name}-group", group, settings, tags, self._own)
        lustre = settings.hot_tier.kind == "lustre"
        self.account = self._account(name, keys=lustre)
        self._data = self._container(name, "training-data")
        for kind in ("blob", "dfs"):
            self._endpoint(name, network, kind)
        if lustre:
            self._file_system(name, network)
        else:
            for job, role in (("train", identities.role("read")), ("ingest", identities.role("write"))):
                self._grant(name, job, role, identities.identities[job].principal_id)
        self.register_outputs({})

    # -- what the contract says of it
    def mounted_accounts(self) -> dict[str, az.storage.StorageAccount]:
        """The accounts that nodes mount by BlobFuse2: the premium one, and none for Lustre."""
        return {} if self._lustre else {self._settings.hot_tier.account: self.account}

    def held(self) -> dict[str, tuple[str, ...]]:
        """The containers of those accounts."""
        return dict.fromkeys(self.mounted_accounts(), ("training-data",))

    def mounts(self) -> tuple[c.Mount, ...]:
        """The premium account's mount: streamed through file_cache, beside the lake's."""
        account, name = self._settings.hot_tier.account, "hot-data"
        if self._lustre:
            return ()
        cache = f"{CACHE_ROOT}/{name}"
        return (c.Mount(name, f"/mnt/{name}", account, "training-data", "train", "train", True, "file_cache", cache),)

    def lustre(self) -> pulumi.Output[str] | None:
        """What a node mounts: `ADDRESS@tcp:/lustrefs`, or None without Lustre."""
        if self._lustre is None:
            return None
        return self._lustre.client_info.apply(lambda info: f"{info.mgs_address}@tcp:/lustrefs")

    # -- resources
    def _account(self, name: str, *, keys: bool) -> az.storage.StorageAccount:
        settings = self._settings
        premium = settings.hot_tier.kind == "premium_blob"
        return az.storage.StorageAccount(
            f"{name}-account",
            resource_group_name=self.group.name,
            account_name=settings.hot_tier.account,
            location=settings.location,
            kind="BlockBlobStorage" if premium else "StorageV2",
            sku={"name": "Premium_LRS" if premium else "Standard_LRS"},
            access_tier=None if premium else "Hot",
            is_hns_enabled=True,
            allow_shared_key_access=keys,  # Lustre's import signs with SAS tokens made from them
            default_to_o_auth_authentication=True,
            minimum_tls_version="TLS1_2",
            enable_https_traffic_only=True,
            allow_blob_public_access=False,
            public_network_access="Disabled",
            allow_cross_tenant_replication=False,
            network_rule_set={"default_action": "Deny", "bypass": "AzureServices" if keys else "None"},
            tags={
                "feedline": settings.cluster,
                "classification": settings.lake.classification,
                **({"feedline-exception-until": settings.hot_tier.exception_until} if keys else {}),
            },
            opts=self._own,
        )

    def _container(self, name: str, container: str) -> az.storage.BlobContainer:
        return az.storage.BlobContainer(
            f"{name}-{container}",
            resource_group_name=self.group.name,
            account_name=self.account.name,
            container_name=container,
            public_access="None",
            opts=self._own,
        )

    def _endpoint(self, name: str, network: Network, kind: str) -> None:
        settings = self._settings
        endpoint = az.network.PrivateEndpoint(
            f"{name}-{kind}-endpoint",
            resource_group_name=self.group.name,
            private_endpoint_name=f"pe-{settings.hot_tier.account}-{kind}",
            location=settings.location,
            subnet={"id": network.endpoints},
            private_link_service_connections=[{"name": kind, "private_link_service_id": self.id, "group_ids": [kind]}],
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["customDnsConfigs"], depends_on=[self.account]),
        )
        az.network.PrivateDnsZoneGroup(
            f"{name}-{kind}-zone-group",
            resource_group_name=self.group.name,
            private_endpoint_name=endpoint.name,
            private_dns_zone_group_name="default",
            private_dns_zone_configs=[{"name": kind, "private_dns_zone_id": network.zones[kind]}],
            opts=self._own,
        )

    def _file_system(self, name: str, network: Network) -> None:
        settings, hot = self._settings, self._settings.hot_tier
        assert network.hot_tier is not None  # made where hot_tier.kind is lustre; settings refuse it with a hub
        log = self._container(name, "lustre-log")
        roles = [
            az.authorization.RoleAssignment(
                f"{name}-{label}",
                role_assignment_name=guid("assignment", settings.cluster, "lustre", label),
                scope=self.id,
                role_definition_id=builtin(settings.subscription_id, role),
                principal_id=hot.provider_object_id,
                principal_type="ServicePrincipal",
                description="HPC Cache resource provider: imports the blobs",
                opts=pulumi.ResourceOptions(parent=self, depends_on=[self.account]),
            )
            for role, label in _LUSTRE_ROLES.items()
        ]
        self._lustre = az.storagecache.AmlFilesystem(
            f"{name}-lustre",
            resource_group_name=self.group.name,
            aml_filesystem_name=f"amlfs-{settings.cluster}",
            location=settings.location,
            sku={"name": hot.tier},
            storage_capacity_ti_b=hot.tib,
            filesystem_subnet=network.hot_tier,
            maintenance_window={"day_of_week": "Sunday", "time_of_day_utc": "03:00"},
            hsm={
                "settings": {
                    "container": self._data.id,
                    "logging_container": log.id,
                    "import_prefix": f"/{settings.feed.dataset}",
                }
            },
            zones=["1"],
            tags={"feedline": settings.cluster},
            opts=pulumi.ResourceOptions(parent=self, depends_on=roles),
        )

    def _grant(self, name: str, job: str, role: pulumi.Input[str], principal: pulumi.Input[str]) -> None:
        az.authorization.RoleAssignment(
            f"{name}-{job}",
            role_assignment_name=guid("assignment", self._settings.cluster, "hot", job),
            scope=container_id(self.id, "training-data"),
            role_definition_id=role,
            principal_id=principal,
            principal_type="ServicePrincipal",
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self._data]),
        )
