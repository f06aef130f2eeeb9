"""What ends machines: the steps that give a node another machine, and those that end a cluster."""

from __future__ import annotations

from feedline.contract import Node
from feedline.plan import Step

PROJECT = "feedline"
QUIET = ("--yes", "--skip-preview", "--non-interactive", "--color", "never")
MOVES = ("redeploy", "reimage")
"""What is done to an instance of a scale set, which keeps its name and address: `redeploy` moves it to another physical
host, `reimage` alone would leave it on the bad one; `reimage` makes the OS disk anew from the set's model.

Source: Virtual Machine Scale Set VMs - Redeploy ("moves it to a new node") and Reimage, REST reference of
Microsoft.Compute 2024-11-01.
"""


def in_scale_set(node: Node) -> bool:
    """Given a node, return whether it is an instance of a scale set (else a machine of its own)."""
    return "/virtualmachinescalesets/" in node.resource_id.lower()


def urn(stack: str, node: Node) -> str:
    """Given a stack and a node that is a machine of its own, return the name by which Pulumi knows it."""
    return f"urn:pulumi:{stack}::{PROJECT}::feedline:nodes:Nodes$azure-native:compute:VirtualMachine::{node.name}"


def replacing(stack: str, node: Node, api_version: str) -> tuple[Step, ...]:
    """Given a stack, a node and the API version of instances, return the steps to another machine of the same name."""
    if not in_scale_set(node):
        command = ("pulumi", "up", "--stack", stack, "--target-replace", urn(stack, node), *QUIET)
        return (Step.run(command, "the machine ends, another one takes its name and address", destroys=node.name),)
    whys = {"redeploy": "it moves to another physical host", "reimage": "its OS disk is made anew from the model"}
    return tuple(
        Step.run(
            ("az", "rest", "--method", "post", "--url", f"{node.resource_id}/{move}?api-version={api_version}"),
            whys[move],
            destroys=node.name if move == "redeploy" else "",
        )
        for move in MOVES
    )


def destroying(stack: str) -> Step:
    """Given a stack, return the step that ends all of it but what is protected: the lake and what lies below its
    lock."""
    command = ("pulumi", "destroy", "--stack", stack, "--exclude-protected", *QUIET)
    return Step.run(command, "machines, network and alerts end; what is protected stays", destroys=f"cluster {stack}")
