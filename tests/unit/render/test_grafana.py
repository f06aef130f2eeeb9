import json
import re
from dataclasses import replace

from feedline.contract import Contract
from feedline.render.grafana import UID_LENGTH, dashboard, uid
from feedline.render.prometheus import rules
from tests.shared.small_cluster import CONTRACT
from tests.unit.render.test_prometheus import METRICS, series

WHOLE = Contract.parse(CONTRACT)


def panels(content):
    return [p for one in content["panels"] for p in (one, *one.get("panels", ()))]


def test_every_series_is_recorded_by_a_rule_or_exported():
    recorded = {r["record"] for g in rules(WHOLE, ())["groups"] for r in g["rules"] if "record" in r}
    recorded |= {f"feedline:{n}" for n in ("reference_read_bytes", "reference_reads", "required_read_bytes")}
    used = set()
    for panel in panels(dashboard(WHOLE)):
        used |= set().union(*(series(t.get("expr", "")) for t in panel.get("targets", ())))
    assert used and used <= recorded | METRICS.keys()


def test_the_dashboard_shows_every_link_from_lake_to_gpu():
    titles = " / ".join(p["title"] for p in panels(dashboard(WHOLE)))
    for word in ("required", "Reads completed", "Cache disk", "Network", "GPU", "Mounts", "Egress"):
        assert word in titles


def test_the_uid_is_the_clusters_and_never_too_long_for_grafana():
    assert uid("small") == "feedline-small" == dashboard(WHOLE)["uid"]
    assert uid("a" * 60) == uid("a" * 60) != uid("b" * 60) and len(uid("a" * 60)) <= UID_LENGTH


def test_no_panel_lies_on_another_and_no_id_comes_twice():
    every = panels(dashboard(WHOLE))
    assert len({p["id"] for p in every}) == len(every)
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in every]
    assert len(set(places)) == len(places)
    assert max(p["gridPos"]["y"] for p in every[:-2]) + 8 <= every[-2]["gridPos"]["y"]


def test_a_rehearsals_dashboard_is_marked_and_a_real_one_is_not():
    assert dashboard(WHOLE)["title"] == "SANDBOX: Feedline small"
    assert dashboard(replace(WHOLE, cloud="public"))["title"] == "Feedline small"


def test_the_lakes_egress_is_asked_of_the_account_by_its_arm_id():
    arm = "/subscriptions/s/resourceGroups/rg-lake/providers/Microsoft.Storage/storageAccounts/lake"
    lake = replace(WHOLE.accounts[0], resource_id=arm)
    (target,) = panels(dashboard(replace(WHOLE, accounts=(lake,))))[-1]["targets"]
    assert target["azureMonitor"]["resources"][0]["resourceGroup"] == "rg-lake"
    assert (target["subscription"], target["azureMonitor"]["metricName"]) == ("s", "Egress")


def test_every_variable_that_is_used_is_declared():
    content = dashboard(WHOLE)
    used = set(re.findall(r"\$\{?([a-z]+)\}?", json.dumps(content["panels"]).replace("$__all", "")))
    assert used == {v["name"] for v in content["templating"]["list"]}
