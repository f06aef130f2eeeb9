"""Storage accounts: the lake is a lake, nobody holds a key, nothing is public, nothing hot sits in a slow tier."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from policies.read import ACCOUNT, inside
from policies.rule import Given, Parameter, Properties, rule

UNTIL = "feedline-exception-until"
"""The tag that tells everybody who looks at an account with keys when that ends."""


@rule(
    "storage-hns",
    ACCOUNT,
    "Training data lives in a data lake.",
    "is_hns_enabled=True, in a new account",
    passes={"isHnsEnabled": True},
    fails={"isHnsEnabled": False},
)
def hns(p: Properties) -> Iterator[str]:
    if p.get("isHnsEnabled") is not True:
        yield "hierarchical namespace is off, so this is no data lake, and it cannot be turned on later"


@rule(
    "storage-tls",
    ACCOUNT,
    "Old TLS can be read.",
    'minimum_tls_version="TLS1_2"',
    passes={"minimumTlsVersion": "TLS1_2"},
    fails={"minimumTlsVersion": "TLS1_0"},
)
def tls(p: Properties) -> Iterator[str]:
    if p.get("minimumTlsVersion") not in ("TLS1_2", "TLS1_3"):
        yield f"minimum TLS version is {p.get('minimumTlsVersion') or 'not set'}"


@rule(
    "storage-https-only",
    ACCOUNT,
    "Tokens must not travel in the clear.",
    "enable_https_traffic_only=True",
    passes={"enableHttpsTrafficOnly": True},
    fails={"enableHttpsTrafficOnly": False},
)
def https(p: Properties) -> Iterator[str]:
    if p.get("enableHttpsTrafficOnly") is False:
        yield "plain http is allowed"


@rule(
    "storage-no-anonymous",
    ACCOUNT,
    "Data is for identities.",
    "allow_blob_public_access=False",
    passes={"allowBlobPublicAccess": False},
    fails={"allowBlobPublicAccess": True},
)
def anonymous(p: Properties) -> Iterator[str]:
    if p.get("allowBlobPublicAccess") is not False:
        yield "anonymous access to blobs is not switched off"


@rule(
    "storage-private-network",
    ACCOUNT,
    "The lake has no door to the internet.",
    'public_network_access="Disabled" and private endpoints for blob and dfs',
    passes={"publicNetworkAccess": "Disabled"},
    fails={"publicNetworkAccess": "Enabled"},
)
def public_network(p: Properties) -> Iterator[str]:
    if p.get("publicNetworkAccess") != "Disabled":
        yield f"public network access is {p.get('publicNetworkAccess') or 'not set, so Enabled'}"


@rule(
    "storage-firewall",
    ACCOUNT,
    "The second lock holds when somebody opens the first.",
    'network_rule_set={"default_action": "Deny"}',
    passes={"networkRuleSet": {"defaultAction": "Deny"}},
    fails={"networkRuleSet": {"defaultAction": "Allow"}},
)
def firewall(p: Properties) -> Iterator[str]:
    if inside(p, "networkRuleSet").get("defaultAction") != "Deny":
        yield "its firewall lets everybody in as soon as public network access is switched on"


@rule(
    "storage-no-shared-key",
    ACCOUNT,
    "Keys end in configuration files.",
    "allow_shared_key_access=False; use managed identities",
    passes={"allowSharedKeyAccess": False},
    fails={"allowSharedKeyAccess": True},
    never_off=True,
)
def shared_key(p: Properties) -> Iterator[str]:
    if p.get("allowSharedKeyAccess") is not False:
        yield "account keys open it: whoever has one is everybody"


@rule(
    "storage-keys-dated",
    ACCOUNT,
    "An exception without an end is the rule.",
    f"tags={{'{UNTIL}': 'YYYY-MM-DD'}} with the day on which the exception in policies/exceptions.toml expires",
    passes={"allowSharedKeyAccess": True, "tags": {UNTIL: "2027-01-31"}},
    fails={"allowSharedKeyAccess": True, "tags": {UNTIL: "2026-06-30"}},
    parameters=(Parameter("max_days", "How far ahead the end may be, in days.", 366),),
    never_off=True,
)
def keys_dated(p: Properties, given: Given) -> Iterator[str]:
    if p.get("allowSharedKeyAccess") is False:
        return
    until = str((p.get("tags") or {}).get(UNTIL) or "")
    try:
        day = date.fromisoformat(until)
    except ValueError:
        yield f"has account keys, and its tag {UNTIL} is {until or 'missing'}, not a date"
        return
    if day < given.today:
        yield f"its keys were accepted until {day}, which is over"
    elif day > given.today + timedelta(days=int(given["max_days"])):
        yield f"its keys are accepted until {day}, more than {given['max_days']:g} days ahead"


@rule(
    "storage-no-cross-tenant",
    ACCOUNT,
    "Data stays in its tenant.",
    "allow_cross_tenant_replication=False",
    passes={"allowCrossTenantReplication": False},
    fails={"allowCrossTenantReplication": True},
)
def cross_tenant(p: Properties) -> Iterator[str]:
    if p.get("allowCrossTenantReplication") is True:
        yield "objects may be replicated into another tenant"


@rule(
    "storage-no-local-users",
    ACCOUNT,
    "There is one way in: Entra ID.",
    "leave SFTP and local users off",
    passes={"isSftpEnabled": False},
    fails={"isSftpEnabled": True},
)
def local_users(p: Properties) -> Iterator[str]:
    if p.get("isLocalUserEnabled") is True or p.get("isSftpEnabled") is True:
        yield "local users or SFTP bypass managed identities"


@rule(
    "storage-hot-path",
    ACCOUNT,
    "The hot path needs a hot tier.",
    'kind="StorageV2", access_tier="Hot"',
    passes={"kind": "StorageV2", "accessTier": "Hot"},
    fails={"kind": "StorageV2", "accessTier": "Cool"},
)
def hot_path(p: Properties) -> Iterator[str]:
    sku = str(inside(p, "sku").get("name", ""))
    if p.get("kind") in ("FileStorage", "Storage"):
        yield f"kind {p.get('kind')} feeds no GPU: it has no data lake endpoint"
    elif p.get("accessTier") in ("Cool", "Cold") and not sku.startswith("Premium"):
        yield f"access tier {p.get('accessTier')} under training data: every read is charged and slow to first byte"
