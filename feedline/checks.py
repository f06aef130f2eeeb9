"""Checks of single values in the settings: each returns "" or what is wrong, as the rest of a sentence."""

from __future__ import annotations

import difflib
import ipaddress
import re

from feedline.catalog.nd_series import SIZES
from feedline.catalog.workloads import PROFILES
from feedline.schema import Check

RDMA_RESERVED = "172.16.0.0/16"
"""The RDMA network of ND sizes uses it: a VNet that overlaps loses InfiniBand (setup-infiniband.md, 2026-09-25)."""


def one_of(*values: str) -> Check:
    """Given the allowed values, return the check for them."""
    return lambda value: "" if value in values else f"is not one of {', '.join(values)}"


def matches(pattern: str, hint: str) -> Check:
    """Given a regular expression and a hint, return the check for it."""
    return lambda value: "" if re.fullmatch(pattern, value) else f"is not valid (hint: {hint})"


def between(low: float, high: float, hint: str) -> Check:
    """Given bounds (inclusive) and a hint, return the check for them."""
    return lambda value: "" if low <= value <= high else f"is not {low:g}..{high:g} ({hint})"


def cidr(value: str) -> str:
    """Given the address space of a VNet, return "" or what is wrong with it."""
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        return f"is not a network prefix: {error}"
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
    """Given an image as publisher:offer:sku:version, return "" or what is wrong with it."""
    parts = value.split(":")
    if len(parts) != 4 or not all(parts):
        return "is not publisher:offer:sku:version"
    return "must pin a version, `latest` moves under a running cluster" if parts[3] == "latest" else ""


def profile(value: str) -> str:
    """Given a workload's name, return "" or the known names."""
    known = sorted({name for name, _ in PROFILES} | {"custom"})
    return "" if value in known else f"is not one of {', '.join(known)}"
