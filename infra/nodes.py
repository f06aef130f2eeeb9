"""The machines: GPU nodes in one availability set (InfiniBand needs that) and the ingest node, all with private
addresses."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.render.cloud_init import custom_data
from feedline.settings import Settings
from infra.identity import Identities
from infra.network import Network

FIRST_ADDRESS = 10
OS_DISK_GIB = 128


@dataclass(frozen=True)
class NodesArgs:
    """What the machines need: settings, their resource group, network and identities."""

    settings: Settings
    group: pulumi.Input[str]
    network: Network
    identities: Identities


@dataclass(frozen=True)
class Declared:
    """A declared machine: what is known without asking Azure, and the resource that knows the rest."""

    name: str
    role: str
    identity: str
    address: str
    size: str
    vm: az.compute.VirtualMachine


class Nodes(pulumi.ComponentResource):
    """`gpu-0`… and `ingest-0`. Names and addresses are fixed here, so they are the same after a replacement."""

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:nodes:Nodes", name, None, opts)
        self._args, settings = args, args.settings
        # One fault domain and no zone: the InfiniBand fabric is one. At most 200 VMs fit an availability set.
        together = az.compute.AvailabilitySet(
            f"{name}-together",
            resource_group_name=args.group,
            availability_set_name=f"avail-{settings.cluster}-gpu",
            location=settings.location,
            platform_fault_domain_count=1,
            platform_update_domain_count=1,
            sku={"name": "Aligned"},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.machines = [
            self._machine(f"gpu-{index}", "train", settings.nodes.size, args.network.nodes, 1, index, together)
            for index in range(settings.nodes.count)
        ]
        self.machines.append(self._machine("ingest-0", "ingest", settings.ingest.size, args.network.ingest, 3, 0, None))
        self.register_outputs({})

    def _machine(
        self,
        name: str,
        role: str,
        size: str,
        subnet: az.network.Subnet,
        subnet_index: int,
        index: int,
        together: az.compute.AvailabilitySet | None,
    ) -> Declared:
        settings = self._args.settings
        address = str(settings.network.subnet(subnet_index)[FIRST_ADDRESS + index])
        nic = az.network.NetworkInterface(
            f"{name}-nic",
            resource_group_name=self._args.group,
            network_interface_name=f"nic-{settings.cluster}-{name}",
            location=settings.location,
            enable_accelerated_networking=True,
            ip_configurations=[
                {
                    "name": "primary",
                    "primary": True,
                    "subnet": {"id": subnet.id},
                    "private_ip_allocation_method": "Static",
                    "private_ip_address": address,
                }
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        vm = self._vm(name, role, size, nic, together)
        return Declared(name, role, role, address, size, vm)

    def _vm(
        self,
        name: str,
        role: str,
        size: str,
        nic: az.network.NetworkInterface,
        together: az.compute.AvailabilitySet | None,
    ) -> az.compute.VirtualMachine:
        settings = self._args.settings
        publisher, offer, sku, version = settings.nodes.image.split(":")
        user = settings.nodes.admin_user
        key = {"path": f"/home/{user}/.ssh/authorized_keys", "key_data": settings.nodes.ssh_public_key}
        return az.compute.VirtualMachine(
            name,
            resource_group_name=self._args.group,
            vm_name=name,
            location=settings.location,
            availability_set={"id": together.id} if together else None,
            hardware_profile={"vm_size": size},
            identity={"type": "UserAssigned", "user_assigned_identities": [self._args.identities.identities[role].id]},
            network_profile={"network_interfaces": [{"id": nic.id, "primary": True, "delete_option": "Detach"}]},
            os_profile={
                "computer_name": name,
                "admin_username": user,
                "custom_data": base64.b64encode(custom_data(settings.packages, role).encode()).decode(),
                "linux_configuration": {
                    "disable_password_authentication": True,
                    "ssh": {"public_keys": [key]},
                    "patch_settings": {"patch_mode": "ImageDefault"},
                },
            },
            storage_profile={
                "image_reference": {"publisher": publisher, "offer": offer, "sku": sku, "version": version},
                "os_disk": {
                    "create_option": "FromImage",
                    "delete_option": "Delete",
                    "caching": "ReadOnly",
                    "disk_size_gb": OS_DISK_GIB,
                    "managed_disk": {"storage_account_type": "Premium_LRS"},
                },
            },
            tags={"feedline": settings.cluster, "feedline-role": role},
            # ARM refuses to change these in place; nested paths must be the wire's names. The name is fixed, so the old
            # machine has to go before the new one comes.
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=[
                    "osProfile.customData",
                    "osProfile.linuxConfiguration",
                    "storageProfile.imageReference",
                ],
                delete_before_replace=True,
            ),
        )
