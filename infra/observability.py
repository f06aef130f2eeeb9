"""What is watched in Azure: logs of the lake, alerts on it, saved questions, and a budget. (Alerts on the nodes are
Prometheus rules: `fab watch`.)"""

from __future__ import annotations

from dataclasses import replace

import pulumi
import pulumi_azure_native as az

from feedline.catalog.storage import limits
from feedline.classification import of
from feedline.render import kusto
from feedline.settings import Settings
from feedline.watch import MetricAlert, account_alerts
from infra.account import Account
from infra.hot_tier import HotTier
from infra.lake import Lake


class Observability(pulumi.ComponentResource):
    """Workspace, diagnostic settings and alerts of every lake account, saved questions, action group, budget.

    The workspace lives with the lake: who read and deleted what is still to be known when the cluster is gone.
    `below_the_lock` are the resources in or at the lake's group.
    """

    def __init__(
        self, name: str, settings: Settings, group: az.resources.ResourceGroup, lake: Lake, hot: HotTier | None
    ) -> None:
        super().__init__("feedline:observability:Observability", name, None, None)
        self._settings, self._group, self._own = settings, group, pulumi.ResourceOptions(parent=self)
        self.workspace = az.operationalinsights.Workspace(
            f"{name}-workspace",
            resource_group_name=lake.group.name,
            workspace_name=f"log-{settings.cluster}",
            location=settings.location,
            sku={"name": "PerGB2018"},
            retention_in_days=settings.observability.retention_days,
            tags={"feedline": settings.cluster},
            opts=pulumi.ResourceOptions(parent=self, protect=lake.kept),
        )
        self.below_the_lock: list[pulumi.Resource] = [self.workspace]
        self._people = self._action_group(name)
        account_limits = limits(settings.location)
        if settings.lake.egress_gbps:
            account_limits = replace(account_limits, egress_bits_per_s=settings.lake.egress_gbps * 1e9)
        for label, made in lake.accounts.items():
            self.below_the_lock.append(self._diagnostics(f"{name}-{label}", made, kept=lake.kept))
            for alert in account_alerts(account_limits):
                self._alert(f"{name}-{label}", label, made, alert)
        self._queries(name)
        if hot:
            self._diagnostics(f"{name}-hot", hot, kept=False)
        if settings.observability.budget_usd:
            self._budget(name)
        self.register_outputs({})

    def _action_group(self, name: str) -> az.monitor.ActionGroup:
        return az.monitor.ActionGroup(
            f"{name}-people",
            resource_group_name=self._group.name,
            action_group_name=f"ag-{self._settings.cluster}",
            location="global",
            group_short_name=self._settings.cluster[:12],
            enabled=True,
            email_receivers=[
                {"name": f"email-{index}", "email_address": address, "use_common_alert_schema": True}
                for index, address in enumerate(self._settings.observability.emails)
            ],
            tags={"feedline": self._settings.cluster},
            opts=self._own,
        )

    def _diagnostics(self, name: str, account: Account | HotTier, *, kept: bool) -> az.monitor.DiagnosticSetting:
        """Who wrote and who deleted is always kept; every read only where it is asked for: it costs more than the rest.

        A diagnostic setting outlives its account and then stands in the way of the next one: it is never retained.
        """
        reads = self._settings.lake.log_reads or of(self._settings.lake.classification).log_reads
        categories = ["StorageWrite", "StorageDelete", *(["StorageRead"] if reads else [])]
        return az.monitor.DiagnosticSetting(
            f"{name}-diagnostics",
            name="feedline",
            resource_uri=f"{account.id}/blobServices/default",
            workspace_id=self.workspace.id,
            logs=[{"category": category, "enabled": True} for category in categories],
            metrics=[{"category": "Transaction", "enabled": True}],
            opts=pulumi.ResourceOptions(parent=self, protect=kept, depends_on=[account.account]),
        )

    def _alert(self, name: str, label: str, account: Account, alert: MetricAlert) -> None:
        dimensions = []
        if alert.dimension:
            dimensions = [{"name": alert.dimension[0], "operator": "Include", "values": list(alert.dimension[1])}]
        az.monitor.MetricAlert(
            f"{name}-{alert.name}",
            resource_group_name=self._group.name,
            rule_name=f"{label}-{alert.name}",
            location="global",
            description=alert.says,
            enabled=True,
            severity=alert.severity,
            scopes=[account.id],
            window_size=alert.window,
            evaluation_frequency=alert.every,
            auto_mitigate=True,
            criteria={
                "odata_type": "Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria",
                "all_of": [
                    {
                        "name": "1",
                        "criterion_type": "StaticThresholdCriterion",
                        "metric_namespace": "Microsoft.Storage/storageAccounts",
                        "metric_name": alert.metric,
                        "time_aggregation": alert.aggregation,
                        "operator": alert.operator,
                        "threshold": alert.threshold,
                        "dimensions": dimensions,
                    }
                ],
            },
            actions=[{"action_group_id": self._people.id}],
            tags={"feedline": self._settings.cluster},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[account.account]),
        )

    def _queries(self, name: str) -> None:
        """A query pack, not saved searches: Azure answers 409 to a saved search that is sent again without its etag,
        which the provider does not send (MicrosoftDocs/azure-docs#49275), and it could not leave the lake's lock."""
        pack = az.operationalinsights.QueryPack(
            f"{name}-queries",
            resource_group_name=self._group.name,
            query_pack_name=f"queries-{self._settings.cluster}",
            location=self._settings.location,
            tags={"feedline": self._settings.cluster},
            opts=self._own,
        )
        for query in kusto.QUERIES:
            az.operationalinsights.Query(
                f"{name}-{query.id}",
                resource_group_name=self._group.name,
                query_pack_name=pack.name,
                id=query.guid(self._settings.cluster),
                display_name=query.display,
                description=f"Needs the log category {query.needs}." if query.needs else None,
                body=query.text,
                related={"categories": [query.category], "resource_types": ["microsoft.storage/storageaccounts"]},
                opts=self._own,
            )

    def _budget(self, name: str) -> None:
        told = {
            "actual-80": ("Actual", 80.0),
            "actual-100": ("Actual", 100.0),
            "forecast-100": ("Forecasted", 100.0),
        }
        az.consumption.Budget(
            f"{name}-budget",
            scope=self._group.id,
            budget_name=f"budget-{self._settings.cluster}",
            amount=float(self._settings.observability.budget_usd),
            category="Cost",
            time_grain="Monthly",
            # Written in the settings: Azure refuses to change the start of a budget, so it is never computed from
            # today.
            time_period={"start_date": f"{self._settings.observability.budget_start}T00:00:00Z"},
            notifications={
                label: {
                    "enabled": True,
                    "operator": "GreaterThanOrEqualTo",
                    "threshold": threshold,
                    "threshold_type": kind,
                    "contact_emails": list(self._settings.observability.emails),
                    "contact_groups": [self._people.id],
                }
                for label, (kind, threshold) in told.items()
            },
            opts=self._own,
        )
