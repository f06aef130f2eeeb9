"""The settings of one environment: what `Pulumi.<stack>.yaml` may say, typed, with every mistake told at once."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedline import checks
from feedline.catalog.nd_series import SIZES
from feedline.catalog.regions import PAIRS
from feedline.catalog.workloads import PROFILES, generation
from feedline.contract import Workload
from feedline.errors import SettingsError
from feedline.schema import build, key

ENVIRONMENTS = ("dev", "staging", "prod", "sandbox")
ACCESS = ("vpn", "jump", "bastion", "command")
REDUNDANCY = ("LRS", "ZRS", "GRS")
CLASSES = ("public", "internal", "confidential", "restricted")
MODES = ("preload", "file_cache")
SANDBOX_SUBSCRIPTION = "00000000-0000-0000-0000-0000feed11e0"
"""No real subscription has this id; a program refuses it outside the sandbox, and any other inside."""


@dataclass(frozen=True)
class Network:
    """`feedline:network`"""

    cidr: str = key(
        "Address space of the VNet; /20 or larger, private, not overlapping 172.16.0.0/16.", "10.40.0.0/16", checks.cidr
    )
    access: str = key(
        "How operators get in: `vpn` (direct), `jump` (ProxyJump by ingest-0), `bastion` (tunnel to it) or `command`"
        " (a ProxyCommand from FEEDLINE_SSH_PROXY_COMMAND; the sandbox's way).",
        "jump",
        checks.one_of(*ACCESS),
        "vpn",
    )

    def subnet(self, index: int) -> ipaddress.IPv4Network:
        """Given 1 (nodes), 2 (endpoints) or 3 (ingest), return that /24 of the address space."""
        base = ipaddress.IPv4Network(self.cidr)
        return ipaddress.IPv4Network((int(base.network_address) + index * 256, 24))


@dataclass(frozen=True)
class Lake:
    """`feedline:lake`"""

    account: str = key(
        "Name of the Data Lake Gen2 account; unique in all of Azure.",
        "feedlinedev01",
        checks.matches(r"[a-z0-9]{3,24}", "3-24 of a-z and 0-9"),
    )
    redundancy: str = key("LRS, ZRS, or GRS where data may leave the region.", "ZRS", checks.one_of(*REDUNDANCY), "ZRS")
    classification: str = key(
        "What the data is: decides network, keys and retention.", "internal", checks.one_of(*CLASSES), "internal"
    )


@dataclass(frozen=True)
class Nodes:
    """`feedline:nodes`"""

    count: int = key(
        "GPU nodes in one availability set; 0 parks the cluster, the lake stays.",
        8,
        checks.between(0, 200, "0 = parked; hint: an availability set takes 200"),
    )
    size: str = key("ND-series size from the catalogue.", "Standard_ND96isr_H100_v5", checks.size)
    image: str = key(
        "Image as publisher:offer:sku:version; the version is pinned.",
        "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026071601",
        checks.image,
    )
    admin_user: str = key(
        "The one login name.", "azureuser", checks.matches(r"[a-z][a-z0-9_-]{0,30}", "a-z, 0-9"), "azureuser"
    )
    ssh_public_key: str = key("Public key of the operators; or use ssh_public_key_file.", "ssh-ed25519 AAAA…", None, "")
    ssh_public_key_file: str = key(
        "File with that key, relative to the project.", ".feedline/ssh/id_ed25519.pub", None, ""
    )
    unproven: bool = key("Allow a size this project has never handed off.", False, None, False)


@dataclass(frozen=True)
class Ingest:
    """`feedline:ingest`"""

    size: str = key(
        "VM size of the ingest and jump node.",
        "Standard_D16s_v5",
        checks.matches(r"Standard_[A-Za-z0-9_]+", "Standard_…"),
        "Standard_D16s_v5",
    )


@dataclass(frozen=True)
class Packages:
    """`feedline:packages`"""

    source: str = key(
        "apt source line of BlobFuse2 and AzCopy.",
        "deb [signed-by=/etc/apt/keyrings/feedline.asc] https://packages.microsoft.com/ubuntu/22.04/prod jammy main",
        checks.matches(r"deb .+", "one `deb …` line"),
    )
    signing_key: str = key(
        "ASCII-armoured key that signs the source; written to /etc/apt/keyrings/feedline.asc.",
        "-----BEGIN PGP …",
        None,
        "",
    )
    held: bool = key("Hold kernel, driver, BlobFuse2 and AzCopy at what was installed.", True, None, True)


@dataclass(frozen=True)
class Feed:
    """`feedline:feed`: what the GPUs eat."""

    profile: str = key(
        "A workload of the catalogue (unet3d, resnet50, cosmoflow) or `custom` with the numbers below.",
        "unet3d",
        checks.profile,
    )
    dataset: str = key(
        "Name of the data set: its prefix in training-data.",
        "shards-v1",
        checks.matches(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", "a-z, 0-9, '.', '-'"),
    )
    dataset_bytes: int = key("Its size in bytes.", 4_000_000_000_000, checks.between(1, 1e18, "bytes"))
    mode: str = key(
        "How it is served: `preload` (all of it on NVMe before training) or `file_cache`.",
        "preload",
        checks.one_of(*MODES),
        "preload",
    )
    record_bytes: int = key("custom: bytes of one sample.", 1_048_576, checks.between(0, 1e12, "bytes"), 0)
    batch: int = key("custom: samples a step on one GPU.", 4, checks.between(0, 1e6, "samples"), 0)
    compute_s: float = key("custom: seconds of work a step.", 0.42, checks.between(0, 3600, "seconds"), 0.0)
    au_target: float = key(
        "Least accelerator utilisation, 0..1; 0 = the profile's own.", 0.9, checks.between(0, 1, "a fraction"), 0.0
    )
    headroom: float = key(
        "How much more than needed the storage must supply.", 1.2, checks.between(1, 10, "a factor"), 1.2
    )
    loaders: int = key("Reader threads per GPU.", 4, checks.between(1, 64, "threads"), 4)
    starving_is_accepted_because: str = key(
        "Deploy although the feed plan says it starves; the reason is kept.", "", None, ""
    )


@dataclass(frozen=True)
class Settings:
    """Everything one environment says. `location` and `subscription_id` come from azure-native's own configuration."""

    environment: str = key("Which environment this is.", "dev", checks.one_of(*ENVIRONMENTS))
    cluster: str = key(
        "Name of the cluster: part of every resource's name.",
        "feedline-dev",
        checks.matches(r"[a-z][a-z0-9-]{1,30}[a-z0-9]", "a-z, 0-9, '-'"),
    )
    network: Network = key("The network.", None)
    lake: Lake = key("The data lake.", None)
    nodes: Nodes = key("The GPU nodes.", None)
    packages: Packages = key("Where nodes get BlobFuse2 and AzCopy from.", None)
    feed: Feed = key("What the GPUs eat.", None)
    ingest: Ingest = key("The ingest and jump node.", None, None, Ingest())
    location: str = key("azure-native:location.", "swedencentral", checks.matches(r"[a-z0-9]+", "swedencentral"), "")
    subscription_id: str = key(
        "azure-native:subscriptionId.", SANDBOX_SUBSCRIPTION, checks.matches(r"[0-9a-f-]{36}", "a GUID"), ""
    )

    @property
    def is_sandbox(self) -> bool:
        """Whether this environment is the simulated one."""
        return self.environment == "sandbox"

    @property
    def workload(self) -> Workload:
        """The workload with every number filled in, from the catalogue or as given."""
        size, feed = SIZES[self.nodes.size], self.feed
        if feed.profile == "custom":
            numbers = (feed.record_bytes, feed.batch, feed.compute_s, feed.au_target or 0.90, "settings")
        else:
            known = PROFILES[(feed.profile, generation(size.gpu_name))]
            numbers = (
                known.record_bytes,
                known.batch,
                known.compute_s,
                feed.au_target or known.au_target,
                known.source,
            )
        record, batch, compute, target, source = numbers
        return Workload(
            feed.profile,
            record,
            batch,
            compute,
            size.gpus,
            target,
            feed.headroom,
            feed.loaders,
            feed.dataset,
            feed.dataset_bytes,
            source,
        )

    @classmethod
    def parse(cls, raw: Mapping[str, Any], *, where: str = "") -> Settings:
        """Given the mapping of `feedline:*` keys plus `location` and `subscription_id`, return the settings.

        Raise SettingsError with every problem: unknown keys (and the nearest name), wrong types, values out of bounds,
        combinations that cannot work.
        """
        problems: list[str] = []
        settings = build(cls, raw, problems, name=_name)
        if isinstance(settings, cls):
            problems += _combinations(settings)
        if problems:
            raise SettingsError(problems, where=where, hint="every key is explained in docs/reference/settings.md")
        assert isinstance(settings, cls)
        return settings


def _combinations(settings: Settings) -> list[str]:
    """Return what is wrong between keys that are each right by themselves."""
    found = []
    nodes, feed = settings.nodes, settings.feed
    if bool(nodes.ssh_public_key) == bool(nodes.ssh_public_key_file):
        found.append("feedline:nodes: give exactly one of ssh_public_key and ssh_public_key_file")
    if not SIZES[nodes.size].proven and not nodes.unproven:
        found.append(
            f"feedline:nodes.size: {nodes.size} was never handed off by this project "
            "(hint: set unproven: true to go first)"
        )
    missing = [key for key in ("record_bytes", "batch", "compute_s") if not getattr(feed, key)]
    if feed.profile == "custom" and missing:
        found.append(f"feedline:feed: profile custom needs {', '.join(missing)}")
    if feed.profile != "custom" and len(missing) < 3:
        found.append(
            f"feedline:feed: record_bytes, batch and compute_s belong to profile custom, not to {feed.profile}"
        )
    if (settings.subscription_id == SANDBOX_SUBSCRIPTION) != settings.is_sandbox:
        found.append(
            f"azure-native:subscriptionId: {settings.subscription_id or 'missing'} does not fit "
            f"environment {settings.environment} "
            f"(hint: {SANDBOX_SUBSCRIPTION} is the sandbox's, and only the sandbox's)"
        )
    if settings.is_sandbox != (settings.network.access == "command"):
        found.append("feedline:network.access: `command` is the sandbox's way in, and its only one")
    if not settings.location:
        found.append("azure-native:location: missing")
    if settings.lake.redundancy == "GRS" and settings.lake.classification in ("confidential", "restricted"):
        pair = PAIRS.get(settings.location, "its paired region")
        found.append(f"feedline:lake.redundancy: GRS copies {settings.lake.classification} data to {pair} (hint: ZRS)")
    return found


def _name(path: str) -> str:
    native = {"location": "azure-native:location", "subscription_id": "azure-native:subscriptionId"}
    return native.get(path, f"feedline:{path}")
