"""Placement: nodes that train together share one InfiniBand fabric, or they do not train together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policies.read import MACHINES, inside, is_rdma, last, of, size
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_SET = ("compute:VirtualMachineScaleSet",)
_H100 = "Standard_ND96isr_H100_v5"
_VM = {"hardwareProfile": {"vmSize": _H100}}
_AVAILABILITY_SET_MAX = 200


def _scale_set(**properties: Any) -> dict[str, Any]:
    return {"sku": {"name": _H100, "capacity": 8}, **properties}


@rule(
    "compute-no-reservation",
    MACHINES,
    "Capacity reservations do not exist for ND sizes: it would fail at apply.",
    "leave capacity_reservation out",
    passes=_VM,
    fails={**_VM, "capacityReservation": {"capacityReservationGroup": {"id": "/…"}}},
)
def no_reservation(p: Properties) -> Iterator[str]:
    asked = p.get("capacityReservation") or inside(p, "virtualMachineProfile").get("capacityReservation")
    if asked and size(p).lower().startswith("standard_nd"):
        yield "capacity reservations do not exist for ND sizes"


@rule(
    "compute-no-zone",
    MACHINES,
    "InfiniBand needs one fabric.",
    "leave zones out",
    passes=_VM,
    fails={**_VM, "zones": ["1"]},
)
def no_zone(p: Properties) -> Iterator[str]:
    if is_rdma(p) and p.get("zones"):
        yield "an RDMA size is placed by availability set or single placement group, not by zone"


@rule(
    "compute-no-flexible",
    _SET,
    "InfiniBand needs one placement group.",
    "Uniform, or an availability set",
    passes=_scale_set(orchestrationMode="Uniform"),
    fails=_scale_set(orchestrationMode="Flexible"),
)
def no_flexible(p: Properties) -> Iterator[str]:
    if is_rdma(p) and p.get("orchestrationMode") != "Uniform":
        mode = p.get("orchestrationMode") or "not said"
        yield f"{size(p)} in a scale set whose mode is {mode}: no InfiniBand is documented there"


@rule(
    "compute-uniform-set",
    _SET,
    "One placement group is one fabric; surplus machines take quota and join no job.",
    "single_placement_group=True, overprovision=False, platform_fault_domain_count=1",
    passes=_scale_set(singlePlacementGroup=True, overprovision=False, platformFaultDomainCount=1),
    fails=_scale_set(singlePlacementGroup=False),
)
def uniform_set(p: Properties) -> Iterator[str]:
    if not is_rdma(p):
        return
    if p.get("singlePlacementGroup") is not True:
        yield "does not keep its nodes in a single placement group"
    if p.get("overprovision") is not False:
        yield "overprovisions: more machines start than are asked for, and some are deleted"
    if p.get("platformFaultDomainCount") != 1:
        yield "spreads over fault domains"


@rule(
    "compute-set-size",
    _SET,
    "A single placement group holds 100 machines, up to 300 on request.",
    "fewer nodes, or max_nodes in the pack's configuration once Azure has granted more",
    passes=_scale_set(),
    fails={"sku": {"name": _H100, "capacity": 128}},
    parameters=(Parameter("max_nodes", "What the subscription was granted per placement group.", 100),),
)
def set_size(p: Properties, given: Given) -> Iterator[str]:
    count = int(inside(p, "sku").get("capacity") or 0)
    if is_rdma(p) and count > given["max_nodes"]:
        yield f"{count} nodes, but a placement group holds {given['max_nodes']:g}"


@rule(
    "compute-manual-upgrade",
    _SET,
    "A running job is not re-imaged because a line of the model changed.",
    'upgrade_policy={"mode": "Manual"}',
    passes=_scale_set(upgradePolicy={"mode": "Manual"}),
    fails=_scale_set(upgradePolicy={"mode": "Automatic"}),
)
def manual_upgrade(p: Properties) -> Iterator[str]:
    mode = inside(p, "upgradePolicy").get("mode")
    if is_rdma(p) and mode != "Manual":
        yield f"upgrade mode is {mode or 'not set'}: Azure would restart running nodes"


@rule(
    "compute-one-fault-domain",
    ("compute:AvailabilitySet",),
    "Fault domains spread what InfiniBand holds together.",
    "platform_fault_domain_count=1",
    passes={"platformFaultDomainCount": 1},
    fails={"platformFaultDomainCount": 3},
)
def one_fault_domain(p: Properties) -> Iterator[str]:
    if p.get("platformFaultDomainCount") != 1:
        yield f"has {p.get('platformFaultDomainCount') or 'the default number of'} fault domains"


def _node(name: str, together: str) -> Resource:
    properties = _VM | ({"availabilitySet": {"id": f"/…/availabilitySets/{together}"}} if together else {})
    return Resource("compute:VirtualMachine", name, properties)


@stack_rule(
    "compute-one-fabric",
    "Nodes that train together share a fabric.",
    "one availability set for all, at most 200 nodes",
    passes=[_node("gpu-0", "gpu"), _node("gpu-1", "gpu")],
    fails=[_node("gpu-0", "gpu"), _node("gpu-1", "")],
)
def one_fabric(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    nodes = [r for r in of(resources, "compute:VirtualMachine") if is_rdma(r.properties)]
    if len(nodes) < 2:
        return
    placed = [r for r in nodes if r.properties.get("availabilitySet") or r.properties.get("virtualMachineScaleSet")]
    for node in nodes:
        if node not in placed:
            yield node.name, "is in no availability set: it gets its own InfiniBand partition"
    if len(placed) > _AVAILABILITY_SET_MAX:
        yield "", f"{len(placed)} nodes, but an availability set holds {_AVAILABILITY_SET_MAX}"
    sets = {_set_of(node) for node in placed if node.properties.get("availabilitySet")}
    if len(sets) > 1:
        yield "", f"the nodes are spread over {len(sets)} availability sets: {', '.join(sorted(sets))}"


def _set_of(node: Resource) -> str:
    """The availability set of a node: by the resource it comes from, since before `up` that one has no id."""
    made = node.depends.get("availabilitySet")
    return made[0].rsplit("::", 1)[-1] if made else last(inside(node.properties, "availabilitySet").get("id"))
