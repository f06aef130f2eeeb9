"""Questions about the lake that are asked again and again, in KQL on `StorageBlobLogs`.

Columns: Microsoft Learn, "Azure Monitor Logs reference - StorageBlobLogs", read 2026-12-01. `RequesterObjectId` is an
identity's principal id (the contract's `principal_id`); the time range is the portal's to choose.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

TABLE = "StorageBlobLogs"

CONTAINER = '| extend Container = tostring(split(tostring(parse_url(Uri).Path), "/")[1])'
IDENTITY = "| extend Identity = iff(isempty(RequesterObjectId), AuthenticationType, RequesterObjectId)"


@dataclass(frozen=True)
class Query:
    """One saved question. `category` is one of Azure Monitor's, `needs` the log category that is not always there."""

    id: str
    display: str
    category: str
    text: str
    needs: str = ""

    def guid(self, pack: str) -> str:
        """Given the pack's name, return the id under which Azure keeps the query (GUIDs only), the same at every up."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"feedline/{pack}/{self.id}"))


def _lines(*lines: str) -> str:
    return "\n".join((TABLE, *lines)) + "\n"


QUERIES: tuple[Query, ...] = (
    Query(
        "who-read-what",
        "Feedline: who read what (identity, container, bytes, day)",
        "audit",
        _lines(
            '| where Category == "StorageRead" and StatusCode startswith "2"',
            CONTAINER,
            IDENTITY,
            "| summarize Requests = count(), Bytes = sum(ResponseBodySize)"
            " by Day = bin(TimeGenerated, 1d), Identity, AccountName, Container",
            "| order by Day desc, Bytes desc",
        ),
        needs="StorageRead",
    ),
    Query(
        "denied-by-identity",
        "Feedline: denied, by identity",
        "security",
        _lines(
            '| where StatusCode in ("401", "403") or StatusText == "AuthorizationPermissionMismatch"',
            CONTAINER,
            IDENTITY,
            "| summarize Requests = count(), Last = max(TimeGenerated), From = make_set(CallerIpAddress, 10)"
            " by Identity, AccountName, Container, OperationName, StatusCode, StatusText",
            "| order by Requests desc",
        ),
        needs="StorageRead to know of refused reads, too",
    ),
    Query(
        "who-deleted",
        "Feedline: who deleted what",
        "audit",
        _lines(
            '| where Category == "StorageDelete" and StatusCode startswith "2"',
            CONTAINER,
            IDENTITY,
            "| project TimeGenerated, Identity, AccountName, Container, OperationName, ObjectKey, CallerIpAddress,"
            " UserAgentHeader",
            "| order by TimeGenerated desc",
        ),
    ),
    Query(
        "throttled",
        "Feedline: throttled, by minute",
        "monitor",
        _lines(
            '| where StatusCode in ("429", "503") or StatusText contains "Throttling"',
            CONTAINER,
            IDENTITY,
            "| summarize Requests = count() by Minute = bin(TimeGenerated, 1m), AccountName, Container, Identity,"
            " OperationName, StatusText",
            "| order by Minute desc, Requests desc",
        ),
    ),
)
