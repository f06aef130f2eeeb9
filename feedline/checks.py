"""Checks of single values in the settings: each returns "" or what is wrong, as the rest of a sentence."""

from __future__ import annotations

import datetime
import difflib
import ipaddress
import re
from collections.abc import Sequence

from feedline.catalog.nd_series import SIZES
from feedline.catalog.regions import REGIONS
from feedline.catalog.workloads import PROFILES
from feedline.schema import Check, shown

RDMA_RESERVED = "172.16.0.0/16"
"""The RDMA network of ND sizes uses it: a VNet that overlaps loses InfiniBand (setup-infiniband.md, 2026-09-25)."""


LONGEST = 100
"""How much of a library's own reason is told: it repeats the value, however long that is."""


def one_of(*values: str) -> Check:
    """Given the allowed values, return the check for them."""
    return lambda value: "" if value in values else f"is not one of {', '.join(values)}"


def matches(pattern: str, hint: str) -> Check:
    """Given a regular expression and a hint, return the check for it."""
    return lambda value: "" if re.fullmatch(pattern, value) else f"is not valid (hint: {hint})"


def between(low: float, high: float, hint: str) -> Check:
    """Given bounds (inclusive) and a hint, return the check for them."""
    return lambda value: "" if low <= value <= high else f"is not {low:g}..{high:g} ({hint})"


def optional(check: Check) -> Check:
    """Given a check, return one that takes the empty text too."""
    return lambda value: check(value) if value else ""


def each(check: Check) -> Check:
    """Given a check of one value, return the check of a list of them: it tells the first that is wrong."""

    def all_of(values: Sequence[str]) -> str:
        return next((f"has {shown(value)}, which {told}" for value in values if (told := check(value))), "")

    return all_of


account = matches(r"[a-z0-9]{3,24}", "3-24 of a-z and 0-9")
guid = matches(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "a GUID")


def resource_id(kind: str) -> Check:
    """Given the last type of a resource id (`virtualNetworks`), return the check for ids of that type."""
    one = r"[\w.()-]+"  # what Azure takes in the names of groups and resources
    pattern = f"/subscriptions/{one}/resourceGroups/{one}/providers/{one}/(?:{one}/{one}/)*{kind}/{one}"
    return matches(pattern, f"a resource id that ends with {kind}/NAME")


def zone_id(group: str) -> Check:
    """Given a private-link group (`blob`), return the check for the id of its private DNS zone."""
    wanted, check = f"privatelink.{group}.core.windows.net", resource_id("privateDnsZones")
    return lambda value: check(value) or ("" if value.endswith(f"/{wanted}") else f"is not the zone {wanted}")


def day(value: str) -> str:
    """Given a day as YYYY-MM-DD, return "" or what is wrong with it."""
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        # Unquoted, YAML makes a point in time of it before anybody can see what was written.
        return 'is not a day (hint: in quotes, "2026-12-01")'
    return ""


def first_of_month(value: str) -> str:
    """Given the first day of a month, return "" or what is wrong with it."""
    return day(value) or ("" if value.endswith("-01") else "is not the first of a month (example: 2026-12-01)")


def known_region(value: str) -> str:
    """Given a region, return "" or the nearest one that is known."""
    if value in REGIONS:
        return ""
    near = difflib.get_close_matches(value, sorted(REGIONS), 1)
    return f"is no region we know (hint: {near[0] if near else 'swedencentral'})"


def placement(*values: str) -> Check:
    """Given the allowed placements, return the check that says why Flexible is none of them."""

    def check(value: str) -> str:
        if value.lower() == "flexible":
            return "has no InfiniBand for RDMA sizes (hint: uniform, or availability_set)"
        return one_of(*values)(value)

    return check


def prefix(value: str) -> str:
    """Given a network prefix, return "" or what is wrong with it."""
    try:
        ipaddress.IPv4Network(value)
    except ValueError as error:
        return f"is not a network prefix: {str(error)[:LONGEST]}"
    return ""


def subnet(value: str) -> str:
    """Given the prefix of a subnet that exists, return "" or what is wrong with it."""
    return prefix(value) or (
        "" if ipaddress.IPv4Network(value).prefixlen <= 28 else "is too small (hint: /28 or larger)"
    )


def cidr(value: str) -> str:
    """Given the address space of a VNet, return "" or what is wrong with it."""
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        return f"is not a network prefix: {str(error)[:LONGEST]}"
    if network.prefixlen > 20:
        return "is too small (hint: /20 or larger; nodes, endpoints and ingest get a /24 each)"
    if network.overlaps(ipaddress.IPv4Network(RDMA_RESERVED)):
        return f"overlaps {RDMA_RESERVED}, which the RDMA network of ND sizes uses (hint: 10.40.0.0/16)"
    return "" if network.is_private else "is not a private network"


def size(value: str) -> str:
    """Given a VM size, return "" or the nearest one of the catalogue."""
    if value in SIZES:
        return ""
    near = difflib.get_close_matches(value, SIZES, 1)
    return f"is not in the catalogue (hint: {near[0] if near else ', '.join(SIZES)})"


def image(value: str) -> str:
    """Given an image as publisher:offer:sku:version or a gallery image version's id, return "" or what is wrong."""
    if value.startswith("/"):
        return resource_id("versions")(value)
    parts = value.split(":")
    if len(parts) != 4 or not all(parts):
        return "is not publisher:offer:sku:version, nor the id of a gallery image version"
    return "must pin a version, `latest` moves under a running cluster" if parts[3] == "latest" else ""


def profile(value: str) -> str:
    """Given a workload's name, return "" or the known names."""
    known = sorted({name for name, _ in PROFILES} | {"custom"})
    return "" if value in known else f"is not one of {', '.join(known)}"
