"""One virtual machine with a network interface of its own: a fixed name, a fixed address."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from feedline.settings.network import FIRST_ADDRESS
from infra import machine_profile
from infra.identity import Identities


@dataclass(frozen=True)
class Declared:
    """A declared machine: what is known without asking Azure, and the resource that knows the rest."""

    name: str
    role: str
    identity: str
    address: str
    size: str
    vm: az.compute.VirtualMachine


class Machine:
    """Declares machines of one cluster under `parent`."""

    def __init__(
        self, settings: Settings, group: pulumi.Input[str], identities: Identities, parent: pulumi.Resource
    ) -> None:
        self._settings, self._group, self._identities, self._parent = settings, group, identities, parent

    def declare(
        self,
        name: str,
        role: str,
        size: str,
        subnet: pulumi.Input[str],
        subnet_index: int,
        index: int,
        together: az.compute.AvailabilitySet | None,
    ) -> Declared:
        """Given name, role, size, where it stands and the set it shares, declare interface and VM."""
        settings = self._settings
        address = str(settings.network.subnet(subnet_index)[FIRST_ADDRESS + index])
        nic = az.network.NetworkInterface(
            f"{name}-nic",
            resource_group_name=self._group,
            network_interface_name=f"nic-{settings.cluster}-{name}",
            location=settings.location,
            enable_accelerated_networking=True,
            ip_configurations=[
                {
                    "name": "primary",
                    "primary": True,
                    "subnet": {"id": subnet},
                    "private_ip_allocation_method": "Static",
                    "private_ip_address": address,
                }
            ],
            opts=pulumi.ResourceOptions(parent=self._parent),
        )
        return Declared(name, role, role, address, size, self._vm(name, role, size, nic, together))

    def _vm(
        self,
        name: str,
        role: str,
        size: str,
        nic: az.network.NetworkInterface,
        together: az.compute.AvailabilitySet | None,
    ) -> az.compute.VirtualMachine:
        settings = self._settings
        return az.compute.VirtualMachine(
            name,
            resource_group_name=self._group,
            vm_name=name,
            location=settings.location,
            availability_set={"id": together.id} if together else None,
            hardware_profile={"vm_size": size},
            identity={"type": "UserAssigned", "user_assigned_identities": [self._identities.identities[role].id]},
            network_profile={"network_interfaces": [{"id": nic.id, "primary": True, "delete_option": "Detach"}]},
            os_profile={"computer_name": name, **machine_profile.os_profile(settings, role)},
            storage_profile=machine_profile.storage_profile(settings, role),
            security_profile=machine_profile.security_profile(settings),
            tags=machine_profile.tags(settings, role),
            # ARM refuses to change these in place; nested paths must be the wire's names. The name is fixed, so the old
            # machine has to go before the new one comes.
            opts=pulumi.ResourceOptions(
                parent=self._parent,
                replace_on_changes=[
                    "osProfile.customData",
                    "osProfile.linuxConfiguration",
                    "storageProfile.imageReference",
                    "storageProfile.osDisk.diffDiskSettings",
                ],
                delete_before_replace=True,
            ),
        )
