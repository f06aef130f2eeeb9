"""Azure resource ids, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GROUP = re.compile(r"(/subscriptions/[^/]+)/resourceGroups/([^/]+)", re.IGNORECASE)


@dataclass(frozen=True)
class ResourceId:
    """A resource id: its full `type`, last `name`, the id of its `parent` (resource, resource group or scope), its
    `group`."""

    rid: str
    type: str
    name: str
    parent: str
    group: str | None


def parse(rid: str) -> ResourceId:
    """Given a resource id, return its parts. Raise ValueError when it is none."""
    rid = "/" + rid.strip("/")
    group = _GROUP.match(rid)
    if group and group.end() == len(rid):
        return ResourceId(rid, "Microsoft.Resources/resourceGroups", group.group(2), group.group(1), rid)
    scope, found, tail = rid.rpartition("/providers/")
    words = tail.split("/")
    if not found or len(words) < 3 or len(words) % 2 == 0:
        raise ValueError(f"{rid!r} is not a resource id")
    namespace, pairs = words[0], words[1:]
    kind = "/".join([namespace, *pairs[::2]])
    parent = f"{scope}/providers/{'/'.join(words[:-2])}" if len(pairs) > 2 else scope
    return ResourceId(rid, kind, pairs[-1], parent, group.group(0) if group else None)


def is_below(rid: str, scope: str) -> bool:
    """Given two ids, return whether the first is the second or lies below it."""
    return f"{rid.lower().rstrip('/')}/".startswith(f"{scope.lower().rstrip('/')}/")
