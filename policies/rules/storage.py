"""Storage: the lake is a lake, nobody holds a key, nothing is public, nothing hot sits on a slow disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.rule import Properties, Resource, Rule, StackRule

_ACCOUNT = ("storage:StorageAccount",)
_TLS = ("TLS1_2", "TLS1_3")


def _hns(p: Properties) -> Iterator[str]:
    if p.get("isHnsEnabled") is not True:
        yield "hierarchical namespace is off, so this is no data lake, and it cannot be turned on later"


def _tls(p: Properties) -> Iterator[str]:
    if p.get("minimumTlsVersion") not in _TLS:
        yield f"minimum TLS version is {p.get('minimumTlsVersion') or 'not set'}"


def _https(p: Properties) -> Iterator[str]:
    if p.get("enableHttpsTrafficOnly") is False:
        yield "plain http is allowed"


def _anonymous(p: Properties) -> Iterator[str]:
    if p.get("allowBlobPublicAccess") is not False:
        yield "anonymous access to blobs is not switched off"


def _public_network(p: Properties) -> Iterator[str]:
    if p.get("publicNetworkAccess") != "Disabled":
        yield f"public network access is {p.get('publicNetworkAccess') or 'not set, so Enabled'}"


def _shared_key(p: Properties) -> Iterator[str]:
    if p.get("allowSharedKeyAccess") is not False:
        yield "account keys open it: whoever has one is everybody"


def _cross_tenant(p: Properties) -> Iterator[str]:
    if p.get("allowCrossTenantReplication") is True:
        yield "objects may be replicated into another tenant"


def _local_users(p: Properties) -> Iterator[str]:
    if p.get("isLocalUserEnabled") is True or p.get("isSftpEnabled") is True:
        yield "local users or SFTP bypass managed identities"


def _kind(p: Properties) -> Iterator[str]:
    sku = (p.get("sku") or {}).get("name", "")
    if p.get("kind") == "FileStorage" or p.get("kind") == "Storage":
        yield f"kind {p.get('kind')} feeds no GPU: it has no data lake endpoint"
    elif p.get("accessTier") in ("Cool", "Cold") and not sku.startswith("Premium"):
        yield f"access tier {p.get('accessTier')} under training data: every read is charged and slow to first byte"


def _container_public(p: Properties) -> Iterator[str]:
    if p.get("publicAccess") not in (None, "None"):
        yield f"container is readable by anybody ({p.get('publicAccess')})"


def _versioning(p: Properties) -> Iterator[str]:
    if p.get("isVersioningEnabled") is True:
        yield "blob versioning does not exist with hierarchical namespace: Azure refuses it"


def _soft_delete(p: Properties) -> Iterator[str]:
    if not (p.get("deleteRetentionPolicy") or {}).get("enabled"):
        yield "soft delete of blobs is off: a wrong delete is final"


RULES = (
    Rule("storage-hns", _ACCOUNT, "Training data lives in a data lake.", "is_hns_enabled=True, in a new account", _hns),
    Rule("storage-tls", _ACCOUNT, "Old TLS can be read.", 'minimum_tls_version="TLS1_2"', _tls),
    Rule(
        "storage-https-only", _ACCOUNT, "Tokens must not travel in the clear.", "enable_https_traffic_only=True", _https
    ),
    Rule("storage-no-anonymous", _ACCOUNT, "Data is for identities.", "allow_blob_public_access=False", _anonymous),
    Rule(
        "storage-private-network",
        _ACCOUNT,
        "The lake has no door to the internet.",
        'public_network_access="Disabled" and private endpoints for blob and dfs',
        _public_network,
    ),
    Rule(
        "storage-no-shared-key",
        _ACCOUNT,
        "Keys end in configuration files.",
        "allow_shared_key_access=False; use managed identities",
        _shared_key,
    ),
    Rule(
        "storage-no-cross-tenant",
        _ACCOUNT,
        "Data stays in its tenant.",
        "allow_cross_tenant_replication=False",
        _cross_tenant,
    ),
    Rule(
        "storage-no-local-users",
        _ACCOUNT,
        "There is one way in: Entra ID.",
        "leave SFTP and local users off",
        _local_users,
    ),
    Rule("storage-hot-path", _ACCOUNT, "The hot path needs a hot tier.", 'kind="StorageV2", access_tier="Hot"', _kind),
    Rule(
        "storage-container-private",
        ("storage:BlobContainer",),
        "Data is for identities.",
        'public_access="None"',
        _container_public,
    ),
    Rule(
        "storage-no-versioning-on-hns",
        ("storage:BlobServiceProperties",),
        "It would fail at apply.",
        "leave is_versioning_enabled out; soft delete protects",
        _versioning,
    ),
    Rule(
        "storage-soft-delete",
        ("storage:BlobServiceProperties",),
        "People delete the wrong thing.",
        "delete_retention_policy={'enabled': True, 'days': 7}",
        _soft_delete,
    ),
)


def _two_doors(resources: list[Resource]) -> Iterable[tuple[str, str]]:
    """HNS clients talk to the blob and to the dfs host."""
    groups: dict[str, set[str]] = {"blob": set(), "dfs": set()}
    for endpoint in (r for r in resources if r.type == "network:PrivateEndpoint"):
        for connection in endpoint.properties.get("privateLinkServiceConnections") or []:
            for group in connection.get("groupIds") or []:
                groups.setdefault(group, set()).add(str(connection.get("privateLinkServiceId")))
    accounts = [r for r in resources if r.type == "storage:StorageAccount"]
    for kind in ("blob", "dfs"):
        if len(groups[kind]) < len(accounts):
            yield "", f"{len(accounts)} data lake accounts, but {len(groups[kind])} private endpoints for {kind}"


def _locked(resources: list[Resource]) -> Iterable[tuple[str, str]]:
    accounts = [r for r in resources if r.type == "storage:StorageAccount"]
    locks = [r for r in resources if r.type.startswith("authorization:ManagementLock")]
    if accounts and not any(lock.properties.get("level") == "CanNotDelete" for lock in locks):
        yield accounts[0].name, "no CanNotDelete lock in this stack: one wrong destroy takes the data"


STACK_RULES = (
    StackRule(
        "storage-both-endpoints", "HNS clients need both hosts.", "a private endpoint each for blob and dfs", _two_doors
    ),
    StackRule("storage-locked", "Data outlives clusters.", "a CanNotDelete lock on the lake's resource group", _locked),
)
