import re
import uuid

import pytest

from feedline.render.kusto import QUERIES, TABLE

# Microsoft Learn, "Azure Monitor Logs reference - StorageBlobLogs", read 2026-12-01.
COLUMNS = {
    "AccountName", "AuthenticationType", "CallerIpAddress", "Category", "ObjectKey", "OperationName",
    "RequesterObjectId", "ResponseBodySize", "StatusCode", "StatusText", "TimeGenerated", "Uri", "UserAgentHeader",
}  # fmt: skip
OWN = {"Bytes", "Container", "Day", "From", "Identity", "Last", "Minute", "Requests", "Path"}
CATEGORIES = {"audit", "security", "monitor"}  # of azurerm_log_analytics_query_pack_query's documented list


def test_the_questions_that_were_asked_for_are_there():
    assert [q.id for q in QUERIES] == ["who-read-what", "denied-by-identity", "who-deleted", "throttled"]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.id)
def test_a_query_uses_only_columns_that_the_table_has(query):
    first, *rest = query.text.splitlines()
    assert first == TABLE and all(line.startswith("| ") for line in rest)
    words = set(re.findall(r"\b[A-Z]\w+", re.sub(r'"[^"]*"', "", "\n".join(rest))))
    assert words - COLUMNS - OWN == set()
    assert query.category in CATEGORIES and query.text.count("(") == query.text.count(")")


def test_an_id_is_a_guid_that_stays_and_is_each_packs_own():
    every = {q.guid(pack) for q in QUERIES for pack in ("a", "b")}
    assert len(every) == 2 * len(QUERIES) and all(str(uuid.UUID(one)) == one for one in every)
    assert QUERIES[0].guid("a") == QUERIES[0].guid("a")


def test_what_is_only_logged_on_request_says_so():
    # infra/observability.py always logs StorageWrite and StorageDelete; reads cost more than the rest.
    assert {q.id for q in QUERIES if "StorageRead" in q.needs} == {"who-read-what", "denied-by-identity"}
