"""From nothing to a cluster that is handed off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts import chain
from scripts.arguments import Arguments
from scripts.rehearsal import cloud, source
from scripts.rehearsal.stages import Stages
from scripts.screen import Screen
from scripts.session import Session
from scripts.verdict_of import with_session

MAX_AGE_S = 24 * 3600.0


def make_cluster(stages: Stages, screen: Screen, state: Path, placement: str = "availability_set") -> None:
    """Begin with an empty cloud and an empty Pulumi state together; end with the cluster that `pulumi up` made."""
    flags = cloud.settings(stages, placement)
    with stages.stage("sandbox up, an empty cloud"):
        stages.sandbox("sandbox-up", "up", "--fresh", hint="`./run sandbox status` says what runs")
        cloud.empty_state(state)
    with stages.stage("pulumi stack init and preview under the policy pack"):
        cloud.init_stack(stages, cloud.STACK)
        screen.say(f"   {cloud.preview(stages, flags)}")
    with stages.stage("a violating stack is refused"):
        cloud.init_stack(stages, cloud.VIOLATING, cloud.VIOLATING_PROJECT)
        screen.say(f"   refused by {', '.join(cloud.refused(stages, stages.checkout / 'policies'))}")
    with stages.stage("pulumi up"):
        screen.say(f"   {cloud.up(stages, flags)}")


def get_ready(stages: Stages, arguments: Arguments, *, again: bool) -> int:
    """Given the options, make the data set on the ingest node and run the chain; return the exit code."""

    def work(session: Session) -> int:
        with stages.stage("a data set to ingest"):
            session.screen.say(f"   {source.make(session)}")
        with stages.stage("fab ready"):
            ingest: dict[str, Any] = {"source": source.FOLDER}
            options = {"ingest": ingest, "cache": {"again": True} if again else {}}
            return chain.get_ready(session, options, again=again, max_age_s=MAX_AGE_S)

    return with_session(arguments, work)
