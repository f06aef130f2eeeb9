"""Which Blob service operation an HTTP request is, and which RBAC actions it needs.

Source: Microsoft Learn, "Authorize with Microsoft Entra ID", table "Permissions for Blob service operations" (read
2026-12-01).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

SERVICE = "Microsoft.Storage/storageAccounts/blobServices"
CONTAINER = f"{SERVICE}/containers"
BLOB = f"{CONTAINER}/blobs"
READ, WRITE, ADD, DELETE = (
    f"{BLOB}/read",
    f"{BLOB}/write",
    f"{BLOB}/add/action",
    f"{BLOB}/delete",
)
ROOT_CONTAINER = "$root"
ACCOUNT_INFORMATION = "Get Account Information"


@dataclass(frozen=True)
class Need:
    """One permission: any of `actions` at the container (None = the account); `data` tells dataActions from (control)
    actions.
    """

    actions: tuple[str, ...]
    container: str | None
    data: bool = True
    account: str | None = None  # None = the account the request was sent to


@dataclass(frozen=True)
class Operation:
    """A Blob service operation: its name, what it needs, and the container it is about."""

    name: str
    needs: tuple[Need, ...] = field(default_factory=tuple)
    container: str | None = None


class UnknownOperation(ValueError):
    """The request is no Blob service operation (or one the sandbox does not do); `status` and `code` are Azure's words
    for it.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


# (method, comp) → (name, action, dataAction?)
_ACCOUNT = {
    ("GET", "list"): ("List Containers", f"{CONTAINER}/read", False),
    ("PUT", "properties"): ("Set Blob Service Properties", f"{SERVICE}/write", False),
    ("GET", "properties"): ("Get Blob Service Properties", f"{SERVICE}/read", False),
    ("GET", "stats"): ("Get Blob Service Stats", f"{SERVICE}/read", False),
    ("POST", "userdelegationkey"): (
        "Get User Delegation Key",
        f"{SERVICE}/generateUserDelegationKey/action",
        False,
    ),
    ("GET", "blobs"): ("Find Blobs by Tags", f"{BLOB}/filter/action", True),
}
_CONTAINER = {
    ("PUT", ""): ("Create Container", f"{CONTAINER}/write", False),
    ("GET", ""): ("Get Container Properties", f"{CONTAINER}/read", False),
    ("GET", "metadata"): ("Get Container Metadata", f"{CONTAINER}/read", False),
    ("PUT", "metadata"): ("Set Container Metadata", f"{CONTAINER}/write", False),
    ("GET", "acl"): ("Get Container ACL", f"{CONTAINER}/getAcl/action", False),
    ("PUT", "acl"): ("Set Container ACL", f"{CONTAINER}/setAcl/action", False),
    ("DELETE", ""): ("Delete Container", f"{CONTAINER}/delete", False),
    ("PUT", "lease"): ("Lease Container", f"{CONTAINER}/write", False),
    ("PUT", "undelete"): ("Restore Container", f"{CONTAINER}/write", False),
    ("GET", "list"): ("List Blobs", READ, True),
    ("GET", "blobs"): (
        "Find Blobs by Tags in Container",
        f"{BLOB}/filter/action",
        True,
    ),
}
_BLOB = {
    ("GET", ""): ("Get Blob", READ),
    ("GET", "metadata"): ("Get Blob Metadata", READ),
    ("GET", "blocklist"): ("Get Block List", READ),
    ("GET", "pagelist"): ("Get Page Ranges", READ),
    ("GET", "tags"): ("Get Blob Tags", f"{BLOB}/tags/read"),
    ("PUT", "tags"): ("Set Blob Tags", f"{BLOB}/tags/write"),
    ("PUT", "properties"): ("Set Blob Properties", WRITE),
    ("PUT", "metadata"): ("Set Blob Metadata", WRITE),
    ("PUT", "block"): ("Put Block", WRITE),
    ("PUT", "blocklist"): ("Put Block List", WRITE),
    ("PUT", "page"): ("Put Page", WRITE),
    ("PUT", "lease"): ("Lease Blob", WRITE),
    ("PUT", "tier"): ("Set Blob Tier", WRITE),
    ("PUT", "expiry"): ("Set Blob Expiry", WRITE),
    ("PUT", "copy"): ("Abort Copy Blob", WRITE),
    ("POST", "query"): ("Query Blob Contents", READ),
    ("DELETE", ""): ("Delete Blob", DELETE),
}


def classify(method: str, uri: str, headers: Mapping[str, str], account: str) -> Operation:
    """Given a request's method, its raw URI (path and query), its headers and the account it was sent to, return the
    operation.

    Raise UnknownOperation when the sandbox cannot say which operation it is: what is not understood is not let through.
    """
    segments, query = _parse(uri)
    verb = "GET" if method == "HEAD" else method
    comp, restype = query.get("comp", ""), query.get("restype", "")
    if comp == "batch":
        raise UnknownOperation(
            501,
            "NotImplemented",
            "The sandbox does not do Blob Batch: send the requests one by one.",
        )
    container = segments[0] if segments else None
    if restype == "account":
        return Operation(
            ACCOUNT_INFORMATION,
            (Need((f"{SERVICE}/getInfo/action",), container, data=False),),
            container,
        )
    if not segments:
        return _account(verb, comp)
    if restype == "container":
        return _container(verb, comp, segments[0])
    container = segments[0] if len(segments) > 1 else ROOT_CONTAINER
    return _blob(verb, comp, container, headers, account)


def parse_source(url: str) -> tuple[str, str, bool]:
    """Given a copy source URL, return (host, container, carries a SAS). Raise UnknownOperation if it names no blob."""
    parts = urlsplit(url)
    segments, query = _parse(parts.path + ("?" + parts.query if parts.query else ""))
    if not parts.hostname or not segments:
        raise UnknownOperation(
            400,
            "InvalidHeaderValue",
            "The value for x-ms-copy-source is not the URL of a blob.",
        )
    return (
        parts.hostname.lower(),
        segments[0] if len(segments) > 1 else ROOT_CONTAINER,
        "sig" in query,
    )


def query_of(uri: str) -> dict[str, str]:
    """Given a raw URI, return its query (names in lower case). Raise UnknownOperation on a name given twice."""
    return _parse(uri)[1]


def _parse(uri: str) -> tuple[list[str], dict[str, str]]:
    """Split a raw URI into decoded path segments and the query.

    What a second parser (Azurite's) could read differently is refused: dot segments, an empty container, a name given
    twice.
    """
    path, _, raw_query = uri.partition("?")
    container, slash, blob = path.removeprefix("/").partition("/")
    segments = ([unquote(container)] + ([unquote(blob)] if slash and blob else [])) if path.strip("/") else []
    if (
        any(part in (".", "..") for segment in segments for part in segment.replace("\\", "/").split("/"))
        or segments[:1] == [""]
        or (segments and "/" in segments[0])
    ):
        raise UnknownOperation(
            400,
            "InvalidUri",
            "The requested URI does not represent any resource on the server.",
        )
    query: dict[str, str] = {}
    for name, value in parse_qsl(raw_query, keep_blank_values=True):
        if name.lower() in query:
            raise UnknownOperation(
                400,
                "InvalidQueryParameterValue",
                f"The query parameter {name} is given twice.",
            )
        query[name.lower()] = value
    return segments, query


def _account(verb: str, comp: str) -> Operation:
    if (verb, comp) not in _ACCOUNT:
        raise UnknownOperation(
            400,
            "InvalidQueryParameterValue",
            f"No account operation is {verb} with comp={comp or 'nothing'}.",
        )
    name, action, data = _ACCOUNT[verb, comp]
    return Operation(name, (Need((action,), None, data),))


def _container(verb: str, comp: str, container: str) -> Operation:
    if (verb, comp) not in _CONTAINER:
        raise UnknownOperation(
            400,
            "InvalidQueryParameterValue",
            f"No container operation is {verb} with comp={comp or 'nothing'}.",
        )
    name, action, data = _CONTAINER[verb, comp]
    return Operation(name, (Need((action,), container, data),), container)


def _blob(verb: str, comp: str, container: str, headers: Mapping[str, str], account: str) -> Operation:
    source = headers.get("x-ms-copy-source", "")
    actions: tuple[str, ...]
    if (verb, comp) == ("PUT", ""):
        name, actions = ("Copy Blob" if source else "Put Blob"), (WRITE, ADD)
    elif verb == "PUT" and comp in ("snapshot", "appendblock", "incrementalcopy"):
        name, actions = comp, (WRITE, ADD)
    elif (verb, comp) == ("PUT", "undelete"):
        return Operation(
            "Undelete Blob",
            (Need((f"{CONTAINER}/write",), container, data=False),),
            container,
        )
    elif (verb, comp) in _BLOB:
        name, action = _BLOB[verb, comp]
        actions = (action,)
    else:
        raise UnknownOperation(
            400,
            "InvalidQueryParameterValue",
            f"No blob operation is {verb} with comp={comp or 'nothing'}.",
        )
    needs = [Need(actions, container)]
    if source:
        needs += _source_needs(source, account)
    return Operation(name, tuple(needs), container)


def _source_needs(url: str, account: str) -> list[Need]:
    """Return the read permission that a copy needs on its source, as the same caller."""
    host, container, signed = parse_source(url)
    name, _, rest = host.partition(".")
    if not rest.startswith("blob."):
        raise UnknownOperation(
            400,
            "InvalidHeaderValue",
            f"x-ms-copy-source: the sandbox copies from blob endpoints only, not from {host}.",
        )
    if signed:
        raise UnknownOperation(
            403,
            "AuthenticationFailed",
            "x-ms-copy-source: the sandbox does not verify shared access signatures.",
        )
    return [Need((READ,), container, account=None if name == account else name)]
