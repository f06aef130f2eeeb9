"""Resource groups: made here, or by bootstrap/ for a pipeline that may make none."""

from __future__ import annotations

import pulumi
import pulumi_azure_native as az

from feedline.settings import Settings
from infra.naming import group_id


def group(
    name: str, label: str, settings: Settings, tags: dict[str, str], opts: pulumi.ResourceOptions | None = None
) -> az.resources.ResourceGroup:
    """Given a logical name, the group's name in Azure, settings and tags, return the group: declared, or read."""
    if settings.groups_exist:
        rid = group_id(settings.subscription_id, label)
        return az.resources.ResourceGroup.get(name, rid, pulumi.ResourceOptions(parent=opts.parent if opts else None))
    return az.resources.ResourceGroup(name, resource_group_name=label, location=settings.location, tags=tags, opts=opts)
