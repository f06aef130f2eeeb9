"""What belongs to an account: containers, soft delete, its two doors, its lock, its log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.read import last, of
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_SERVICE = ("storage:BlobServiceProperties",)
_LOGGED = ("StorageWrite", "StorageDelete")


@rule(
    "storage-container-private",
    ("storage:BlobContainer",),
    "Data is for identities.",
    'public_access="None"',
    passes={"publicAccess": "None"},
    fails={"publicAccess": "Blob"},
)
def container_private(p: Properties) -> Iterator[str]:
    if p.get("publicAccess") not in (None, "None"):
        yield f"container is readable by anybody ({p.get('publicAccess')})"


@rule(
    "storage-no-versioning-on-hns",
    _SERVICE,
    "It would fail at apply.",
    "leave is_versioning_enabled out; soft delete protects",
    passes={"isVersioningEnabled": False},
    fails={"isVersioningEnabled": True},
)
def versioning(p: Properties) -> Iterator[str]:
    if p.get("isVersioningEnabled") is True:
        yield "blob versioning does not exist with hierarchical namespace: Azure refuses it"


@rule(
    "storage-soft-delete",
    _SERVICE,
    "People delete the wrong thing.",
    "delete_retention_policy={'enabled': True, 'days': 7}, and the same for containers",
    passes={
        "deleteRetentionPolicy": {"enabled": True, "days": 7},
        "containerDeleteRetentionPolicy": {"enabled": True, "days": 7},
    },
    fails={"deleteRetentionPolicy": {"enabled": True, "days": 1}},
    parameters=(Parameter("days", "The least number of days.", 7),),
)
def soft_delete(p: Properties, given: Given) -> Iterator[str]:
    for what, name in (("blobs", "deleteRetentionPolicy"), ("containers", "containerDeleteRetentionPolicy")):
        policy = p.get(name) or {}
        if policy.get("enabled") is not True:
            yield f"soft delete of {what} is off: a wrong delete is final"
        elif int(policy.get("days") or 0) < given["days"]:
            yield f"deleted {what} are kept {int(policy.get('days') or 0)} days, fewer than {given['days']:g}"


def _account(name: str = "lakeprod01") -> Resource:
    return Resource("storage:StorageAccount", "lake-account", {"accountName": name, "location": "swedencentral"})


def _endpoint(kind: str, account: str = "lakeprod01") -> Resource:
    connection = {"groupIds": [kind], "privateLinkServiceId": f"/…/storageAccounts/{account}"}
    return Resource("network:PrivateEndpoint", f"lake-{kind}", {"privateLinkServiceConnections": [connection]})


@stack_rule(
    "storage-both-endpoints",
    "HNS clients talk to the blob and to the dfs host.",
    "a private endpoint each for blob and dfs",
    passes=[_account(), _endpoint("blob"), _endpoint("dfs")],
    fails=[_account(), _endpoint("blob")],
)
def both_endpoints(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    doors = {
        (last(connection.get("privateLinkServiceId")), str(group))
        for endpoint in of(resources, "network:PrivateEndpoint")
        for connection in endpoint.properties.get("privateLinkServiceConnections") or []
        for group in connection.get("groupIds") or []
    }
    for account in of(resources, "storage:StorageAccount"):
        for kind in ("blob", "dfs"):
            if (last(account.properties.get("accountName")), kind) not in doors:
                yield account.name, f"has no private endpoint for {kind}"


def _lock(level: str) -> Resource:
    return Resource("authorization:ManagementLockByScope", "lake-lock", {"level": level})


@stack_rule(
    "storage-locked",
    "Data outlives clusters.",
    "a CanNotDelete lock on the lake's resource group",
    passes=[_account(), _lock("CanNotDelete")],
    fails=[_account()],
)
def locked(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    accounts = of(resources, "storage:StorageAccount")
    locks = [r for r in resources if r.type.startswith("authorization:ManagementLock")]
    # A ReadOnly lock would do too, were it not for listKeys and writes of the control plane that it refuses.
    if accounts and not any(lock.properties.get("level") == "CanNotDelete" for lock in locks):
        yield accounts[0].name, "no CanNotDelete lock in this stack: one wrong destroy takes the data"


def _log(*categories: str, account: str = "lakeprod01") -> Resource:
    where = f"/…/storageAccounts/{account}/blobServices/default"
    logs = [{"category": category, "enabled": True} for category in categories]
    return Resource("monitor:DiagnosticSetting", "lake-diagnostics", {"resourceUri": where, "logs": logs})


@stack_rule(
    "storage-diagnostics",
    "Who wrote and who deleted is asked afterwards.",
    "a diagnostic setting at <account>/blobServices/default with StorageWrite and StorageDelete",
    passes=[_account(), _log(*_LOGGED)],
    fails=[_account(), _log("StorageWrite")],
)
def diagnostics(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    kept: dict[str, set[str]] = {}
    for setting in of(resources, "monitor:DiagnosticSetting"):
        words = str(setting.properties.get("resourceUri")).lower().strip("/").split("/")
        if words[-2:] != ["blobservices", "default"]:
            continue
        for log in setting.properties.get("logs") or []:
            if log.get("enabled") is True:
                grouped = _LOGGED if log.get("categoryGroup") in ("allLogs", "audit") else ()
                kept.setdefault(words[-3], set()).update({str(log.get("category")), *grouped})
    for account in of(resources, "storage:StorageAccount"):
        missing = [c for c in _LOGGED if c not in kept.get(last(account.properties.get("accountName")), set())]
        if missing:
            yield account.name, f"{' and '.join(missing)} of its blobs are logged nowhere"
