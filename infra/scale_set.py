"""The GPU nodes as a Uniform scale set: one placement group, so one InfiniBand fabric, up to 100 nodes (300 on
request)."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from infra import machine_profile
from infra.identity import Identities

PREFIX = "gpu"


class ScaleSet(pulumi.ComponentResource):
    """`resource` is the scale set. Its instances are Azure's: names and addresses are found by ARM after `up`."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        group: pulumi.Input[str],
        subnet: pulumi.Input[str],
        identities: Identities,
        parent: pulumi.Resource,
    ) -> None:
        super().__init__("feedline:nodes:ScaleSet", name, None, pulumi.ResourceOptions(parent=parent))
        nic = {
            "name": "primary",
            "primary": True,
            "enable_accelerated_networking": True,
            "ip_configurations": [{"name": "primary", "primary": True, "subnet": {"id": subnet}}],
        }
        self.resource = az.compute.VirtualMachineScaleSet(
            name,
            resource_group_name=group,
            vm_scale_set_name=f"vmss-{settings.cluster}-gpu",
            location=settings.location,
            sku={"name": settings.nodes.size, "tier": "Standard", "capacity": settings.nodes.count},
            identity={"type": "UserAssigned", "user_assigned_identities": [identities.identities["train"].id]},
            orchestration_mode="Uniform",
            single_placement_group=True,  # one fabric; a Flexible set cannot promise it
            overprovision=False,  # the surplus would take quota and join no job
            platform_fault_domain_count=1,
            upgrade_policy={"mode": "Manual"},  # a running job is never re-imaged by a changed model
            virtual_machine_profile={
                "os_profile": {"computer_name_prefix": PREFIX, **machine_profile.os_profile(settings, "train")},
                "storage_profile": machine_profile.storage_profile(settings, "train", in_scale_set=True),
                "network_profile": {"network_interface_configurations": [nic]},
                "security_profile": machine_profile.security_profile(settings),
            },
            tags=machine_profile.tags(settings, "train"),
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=[
                    "virtualMachineProfile.osProfile.customData",
                    "virtualMachineProfile.osProfile.linuxConfiguration",
                    "virtualMachineProfile.storageProfile.imageReference",
                ],
                delete_before_replace=True,
            ),
        )
        self.register_outputs({})
