"""The machines: GPU nodes that share one InfiniBand fabric, and the ingest node, all with private addresses."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from feedline.settings.network import INGEST, NODES
from infra.identity import Identities
from infra.machine import Declared, Machine
from infra.network import Network
from infra.scale_set import ScaleSet


@dataclass(frozen=True)
class NodesArgs:
    """What the machines need: settings, their resource group, network and identities."""

    settings: Settings
    group: pulumi.Input[str]
    network: Network
    identities: Identities


class Nodes(pulumi.ComponentResource):
    """`machines` are the declared VMs (`gpu-0`… and `ingest-0`): names and addresses are fixed here, so they are the
    same after a replacement. With `uniform` the GPU nodes are the instances of `scale_set`, known only after `up`."""

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("feedline:nodes:Nodes", name, None, opts)
        settings, network = args.settings, args.network
        machine = Machine(settings, args.group, args.identities, self)
        self.machines: list[Declared] = []
        self.scale_set: ScaleSet | None = None
        if settings.nodes.placement == "uniform":
            self.scale_set = ScaleSet(f"{name}-gpu", settings, args.group, network.nodes, args.identities, self)
        else:
            together = self._availability_set(name, settings, args.group)
            self.machines = [
                machine.declare(f"gpu-{index}", "train", settings.nodes.size, network.nodes, NODES, index, together)
                for index in range(settings.nodes.count)
            ]
        self.machines.append(
            machine.declare("ingest-0", "ingest", settings.ingest_size, network.ingest, INGEST, 0, None)
        )
        self.register_outputs({})

    # One fault domain and no zone: the InfiniBand fabric is one. At most 200 VMs fit an availability set.
    def _availability_set(self, name: str, settings: Settings, group: pulumi.Input[str]) -> az.compute.AvailabilitySet:
        return az.compute.AvailabilitySet(
            f"{name}-together",
            resource_group_name=group,
            availability_set_name=f"avail-{settings.cluster}-gpu",
            location=settings.location,
            sku={"name": "Aligned"},
            platform_fault_domain_count=1,
            platform_update_domain_count=1,
            opts=pulumi.ResourceOptions(parent=self),
        )
