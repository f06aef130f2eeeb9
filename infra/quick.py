"""What keeps the SDK quick with hundreds of nodes."""

from __future__ import annotations

from types import EllipsisType

import pulumi

_OTHERS = "azure-native:"


def leave_out_old_types() -> None:
    """Drop the aliases that azure-native's classes bring along: the type of every API version there ever was, dozens
    for each resource.

    They let a stack move from a type with a version in its name to the one without. No stack of ours was ever made of
    the former, and the SDK works each alias out as a tree of outputs: with 200 nodes that was most of a preview's time
    (docs/reference/performance.md). Aliases that somebody gives a resource here stay.
    """
    pulumi.runtime.register_stack_transformation(_without)


def _without(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    aliases = args.opts.aliases
    if not aliases:
        return None
    opts = args.opts._copy()
    opts.aliases = [alias for alias in aliases if not _old_type(alias)]
    return pulumi.ResourceTransformationResult(args.props, opts)


def _old_type(alias: object) -> bool:
    """Whether an alias names a type of azure-native, and nothing else."""
    return (
        isinstance(alias, pulumi.Alias)
        and str(alias.type_).startswith(_OTHERS)
        and all(isinstance(part, EllipsisType) for part in (alias.name, alias.parent, alias.stack, alias.project))
    )
