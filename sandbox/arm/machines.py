"""Requests on machines - VMs, scale sets, instances: what each action does, and what the instance views say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sandbox.arm.compute import Compute, Vm
from sandbox.cloud import Cloud, scale_sets
from sandbox.cloud.machines import INSTANCE, SCALE_SET, as_node, is_machine, placement_group

Resource = dict[str, Any]
ACTIONS = {"restart": "restart", "start": "start", "poweroff": "power_off", "deallocate": "deallocate"}
STATES = {"running": "PowerState/running", "stopped": "PowerState/stopped", "deallocated": "PowerState/deallocated"}
GROUP_ACTIONS = ("delete", "manualupgrade")
"""Actions of a scale set only; ARM names the instances in the body."""


def work_of(compute: Compute, resource: Resource, action: str) -> Callable[[Vm], None] | None:
    """Given a VM, a scale set or an instance and an action's name, return what it does to each machine, or None if
    there is no such action."""

    def reimage(vm: Vm) -> None:
        compute.delete(vm)
        compute.create(vm)

    def redeploy(vm: Vm) -> None:  # another host: the OS disk goes along, local disks do not
        compute.deallocate(vm)
        compute.start(vm)

    action = action.lower()
    group = resource["type"] == SCALE_SET
    if not group and not is_machine(resource):
        return None
    if action == "reimage" and (group or resource["type"] == INSTANCE):
        return reimage
    if action == "redeploy":
        return redeploy
    if group and action in GROUP_ACTIONS:
        return compute.delete if action == "delete" else lambda vm: None
    found: Callable[[Vm], None] | None = getattr(compute, ACTIONS[action]) if action in ACTIONS else None
    return found


def targets(cloud: Cloud, resource: Resource, action: str, body: Resource) -> list[Resource]:
    """Given a resource, an action and the request's body, return the machines it is about. Raise Refusal."""
    if resource["type"] != SCALE_SET:
        return [resource]
    required = action.lower() in GROUP_ACTIONS
    return scale_sets.chosen(cloud, resource, body.get("instanceIds"), required=required)


def create_missing(compute: Compute) -> Callable[[Vm], None]:
    """Return what a scale set's PUT does to each of its machines: those that were never made, or failed, are made."""

    def create(vm: Vm) -> None:
        if compute.state(vm) not in STATES:
            compute.create(vm)

    return create


def instance_view(cloud: Cloud, compute: Compute, resource: Resource) -> Resource:
    """Given a VM, an instance or a scale set, return its instance view."""
    provisioning = _status("ProvisioningState", str(resource["properties"].get("provisioningState", "Succeeded")))
    if resource["type"] == SCALE_SET:
        states = (str(r["properties"]["provisioningState"]) for r in scale_sets.instances(cloud, resource["id"]))
        counts = Counter(f"ProvisioningState/{state.lower()}" for state in states)
        summary = [{"code": code, "count": count} for code, count in sorted(counts.items())]
        return {"virtualMachine": {"statusesSummary": summary}, "statuses": [provisioning]}
    power = STATES.get(compute.state(as_node(resource)), "PowerState/unknown")
    view = {"statuses": [provisioning, _status(*power.split("/"))]}
    if resource["type"] == INSTANCE:
        group = {"placementGroupId": placement_group(cloud, resource), "platformFaultDomain": 0}
        return {**group, "computerName": resource["properties"]["osProfile"]["computerName"], **view}
    return view


def _status(kind: str, state: str) -> Resource:
    level = "Error" if state.lower() == "failed" else "Info"
    return {"code": f"{kind}/{state.lower()}", "level": level}
