"""What exists, in order: network, lake, identities, hot tier, nodes, what watches and what forbids - and the contract
that the runbook reads."""

from __future__ import annotations

import pulumi

from infra import configuration, export, groups
from infra.feed import FeedPlan, feed_plan
from infra.governance import Governance
from infra.hot_tier import HotTier
from infra.identity import Identities, IdentitiesArgs
from infra.lake import Lake, LakeArgs
from infra.network import Network, NetworkArgs
from infra.nodes import Nodes, NodesArgs
from infra.observability import Observability


def declare() -> None:
    """Declare the stack. Raise FeedlineError for settings that cannot work."""
    settings = configuration.load()
    proxy = configuration.proxy_command(settings)
    plan = feed_plan(settings)
    FeedPlan("feed", settings, plan)  # first: a policy that refuses the plan does so before anything is made
    group = groups.group("cluster", f"rg-{settings.cluster}", settings, {"feedline": settings.cluster})
    network = Network("network", NetworkArgs(settings, group.name))
    lake = Lake("lake", LakeArgs(settings, network, group.name))
    identities = Identities("identities", IdentitiesArgs(settings, lake))
    hot = HotTier("hot", settings, network, identities) if settings.hot_tier.kind != "none" else None
    nodes = Nodes("nodes", NodesArgs(settings, group.name, network, identities))
    observed = Observability("observability", settings, group, lake, hot)
    governed = Governance("governance", settings, lake, {"cluster": group, **({"hot": hot.group} if hot else {})})
    lake.lock("lake", after=[*identities.assignments, *observed.below_the_lock, *governed.below_the_lock])
    pulumi.export("feed_plan", plan)
    contract = export.contract(settings, lake, hot, identities, nodes, proxy_command=proxy, feed_plan=plan)
    pulumi.export("contract", contract)
