"""A cluster as it is often found: keys on, doors open, an HDD under the data, Owner for the training job."""

from __future__ import annotations

import pulumi_azure_native as az

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-0000feed11e0"

group = az.resources.ResourceGroup("group", resource_group_name="rg-violating")
az.storage.StorageAccount(
    "flat",
    account_name="violating01",
    resource_group_name="rg-violating",
    kind="StorageV2",
    sku={"name": "Standard_LRS"},
    is_hns_enabled=False,
    allow_shared_key_access=True,
    allow_blob_public_access=True,
    public_network_access="Enabled",
    minimum_tls_version="TLS1_0",
)
az.compute.Disk(
    "cache",
    disk_name="cache",
    resource_group_name="rg-violating",
    sku={"name": "Standard_LRS"},
    disk_size_gb=1024,
    creation_data={"create_option": "Empty"},
)
az.authorization.RoleAssignment(
    "everything",
    scope=SUBSCRIPTION,
    role_definition_id=f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
    principal_id="00000000-0000-0000-0000-000000000042",
)
