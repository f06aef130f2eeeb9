"""A cluster as it is often found: keys on, doors open, HDDs under the data, Owner for the training job, and GPUs that
starve in a scale set which promises no InfiniBand."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-0000feed11e0"
GROUP = "rg-violating"
ROLES = f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
NOBODY = "00000000-0000-0000-0000-000000000042"


class FeedPlan(pulumi.ComponentResource):
    """As the program of a real cluster registers it; this one starves, and its checkpoints cannot be written."""

    def __init__(self) -> None:
        mount = {"name": "checkpoints", "container": "checkpoints", "read_only": True, "mode": "preload", "cache": "/"}
        facts = {
            "starved": True,
            "accepted_because": "",
            "fits_nvme": False,
            "mode": "preload",
            "dataset_bytes": 90e12,
            "nvme_bytes": 28e12,
            "mounts": [mount],
        }
        super().__init__("feedline:feed:FeedPlan", "feed", facts)
        self.register_outputs(facts)


group = az.resources.ResourceGroup("group", resource_group_name=GROUP)
account = az.storage.StorageAccount(
    "flat",
    account_name="violating01",
    resource_group_name=GROUP,
    kind="StorageV2",
    sku={"name": "Standard_LRS"},
    is_hns_enabled=False,
    allow_shared_key_access=True,
    allow_blob_public_access=True,
    public_network_access="Enabled",
    minimum_tls_version="TLS1_0",
    # Not known before the group exists: a rule that reads it cannot say, and must not pass.
    enable_https_traffic_only=group.id.apply(bool),
)
az.storage.ManagementPolicy(
    "prune",
    resource_group_name=GROUP,
    account_name="violating01",
    management_policy_name="default",
    policy={
        "rules": [
            {
                "name": "everything-goes",
                "enabled": True,
                "type": "Lifecycle",
                "definition": {
                    "actions": {"base_blob": {"tier_to_archive": {"days_after_modification_greater_than": 30}}},
                    "filters": {"blob_types": ["blockBlob"]},
                },
            }
        ]
    },
)
az.authorization.ManagementLockByScope(
    "lock",
    scope=f"{SUBSCRIPTION}/resourceGroups/{GROUP}",
    lock_name="l",
    level=group.id.apply(lambda _: "CanNotDelete"),
)
az.compute.Disk(
    "cache",
    disk_name="cache",
    resource_group_name=GROUP,
    sku={"name": "Standard_LRS"},
    disk_size_gb=1024,
    creation_data={"create_option": "Empty"},
)
az.compute.VirtualMachineScaleSet(
    "gpus",
    vm_scale_set_name="gpus",
    resource_group_name=GROUP,
    sku={"name": "Standard_ND96isr_H100_v5", "capacity": 128},
    orchestration_mode="Flexible",
    single_placement_group=False,
    zones=["1"],
    virtual_machine_profile={
        "os_profile": {
            "computer_name_prefix": "gpu",
            "admin_username": "root1",
            "admin_password": "not-a-secret-1",
            "linux_configuration": {"patch_settings": {"patch_mode": "AutomaticByPlatform"}},
        },
        "storage_profile": {
            "image_reference": {"publisher": "p", "offer": "o", "sku": "s", "version": "latest"},
            "os_disk": {"create_option": "FromImage", "managed_disk": {"storage_account_type": "Standard_LRS"}},
        },
        "network_profile": {
            "network_interface_configurations": [
                {
                    "name": "primary",
                    "ip_configurations": [
                        {"name": "primary", "public_ip_address_configuration": {"name": "everybody"}},
                    ],
                }
            ]
        },
    },
)
az.network.NetworkSecurityGroup(
    "open",
    network_security_group_name="open",
    resource_group_name=GROUP,
    security_rules=[
        {
            "name": "ssh",
            "priority": 100,
            "direction": "Inbound",
            "access": "Allow",
            "protocol": "Tcp",
            "source_address_prefix": "*",
            "source_port_range": "*",
            "destination_address_prefix": "*",
            "destination_port_range": "22",
        }
    ],
)
az.authorization.RoleAssignment(
    "everything",
    scope=SUBSCRIPTION,
    role_definition_id=f"{ROLES}/8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
    principal_id=NOBODY,
)
az.authorization.RoleDefinition(
    "deleter",
    scope=SUBSCRIPTION,
    role_name="checkpoint writer",
    role_type="CustomRole",
    assignable_scopes=[SUBSCRIPTION],
    permissions=[{"actions": ["*/read"], "data_actions": [f"{BLOBS}/write", f"{BLOBS}/delete"]}],
)
FeedPlan()
