"""The settings of one environment: what `Pulumi.<stack>.yaml` may say, typed, with every mistake told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedline import checks, sizing
from feedline.catalog.nd_series import SIZES
from feedline.catalog.workloads import PROFILES, generation
from feedline.classification import of
from feedline.contract import Workload
from feedline.errors import SettingsError
from feedline.schema import build, key
from feedline.settings import care, feed, lake, network, nodes, people
from feedline.settings.care import Governance, Observability
from feedline.settings.feed import Feed, HotTier
from feedline.settings.lake import Lake
from feedline.settings.network import Network
from feedline.settings.nodes import Ingest, Nodes, Packages
from feedline.settings.people import Operator

__all__ = ["SANDBOX_SUBSCRIPTION", "Network", "Packages", "Settings"]

ENVIRONMENTS = ("dev", "staging", "prod", "sandbox")
SANDBOX_SUBSCRIPTION = "00000000-0000-0000-0000-0000feed11e0"
"""No real subscription has this id; a program refuses it outside the sandbox, and any other inside."""


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
    hot_tier: HotTier = key("Storage between lake and nodes.", None, None, HotTier())
    operators: tuple[Operator, ...] = key("People and groups who may read or write data.", None, None, ())
    observability: Observability = key("What is watched, and who is told.", None, None, Observability())
    governance: Governance = key("What is forbidden.", None, None, Governance())
    groups_exist: bool = key(
        "The resource groups were made by bootstrap/ (whose pipeline identity may fill them and make none): read them.",
        True,
        None,
        False,
    )
    location: str = key("azure-native:location.", "swedencentral", checks.known_region, "")
    subscription_id: str = key("azure-native:subscriptionId.", SANDBOX_SUBSCRIPTION, checks.guid, "")

    @property
    def is_sandbox(self) -> bool:
        """Whether this environment is the simulated one."""
        return self.environment == "sandbox"

    @property
    def accounts(self) -> tuple[str, ...]:
        """The lake's accounts: the first takes everything, the others hold copies of training-data."""
        return (self.lake.account, *self.lake.replicas)

    @property
    def nodes_subnet(self) -> int:
        """Which part of the address space the GPU nodes take: an availability set fits a /24, a scale set may not."""
        return network.MANY_NODES if self.nodes.placement == "uniform" else network.NODES

    @property
    def regions(self) -> tuple[str, ...]:
        """Where resources may be."""
        return self.governance.allowed_regions or (self.location,)

    @property
    def ingest_size(self) -> str:
        """The ingest node's size: as given, or the smallest whose network ingests the data set in time."""
        return self.ingest.size or sizing.ingest_size(self.feed.dataset_bytes, self.ingest.hours)

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
    rules, governance = of(settings.lake.classification), settings.governance
    found = [
        *network.problems(settings.network, settings.nodes.count, settings.nodes_subnet, settings.hot_tier.kind),
        *lake.problems(settings.lake, settings.location, governance.allowed_regions),
        *nodes.problems(settings.nodes),
        *feed.problems(settings.feed, settings.hot_tier, settings.accounts),
        *people.problems(settings.operators),
        *care.problems(settings.observability, governance, settings.location),
    ]
    if not settings.subscription_id:
        found.append("azure-native:subscriptionId: missing")
    elif (settings.subscription_id == SANDBOX_SUBSCRIPTION) != settings.is_sandbox:
        found.append(
            f"azure-native:subscriptionId: {settings.subscription_id} does not fit "
            f"environment {settings.environment} "
            f"(hint: {SANDBOX_SUBSCRIPTION} is the sandbox's, and only the sandbox's)"
        )
    if settings.is_sandbox != (settings.network.access == "command"):
        found.append("feedline:network.access: `command` is the sandbox's way in, and its only one")
    if settings.network.access not in rules.access:
        found.append(
            f"feedline:network.access: {settings.lake.classification} data is not reached by {settings.network.access} "
            f"(hint: {', '.join(way for way in rules.access if way != 'command')})"
        )
    if rules.named_regions and not governance.allowed_regions:
        found.append(f"feedline:governance.allowed_regions: {settings.lake.classification} data needs them named")
    if not settings.location:
        found.append("azure-native:location: missing")
    return found


def _name(path: str) -> str:
    native = {"location": "azure-native:location", "subscription_id": "azure-native:subscriptionId"}
    return native.get(path, f"feedline:{path}")
