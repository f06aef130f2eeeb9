"""The decision about one Blob request, without HTTP: what the authorizer answers, and why."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sandbox.gateway.endpoints import DOMAIN, PUBLIC_ADDRESS, Facts, container_scope
from sandbox.gateway.operations import (
    ACCOUNT_INFORMATION,
    Need,
    UnknownOperation,
    classify,
    query_of,
)
from sandbox.identity.tokens import Claims, Refusal, Tokens

if TYPE_CHECKING:
    from sandbox.cloud import Cloud


@dataclass(frozen=True)
class Request:
    """A request as the client sent it: `client` and `server` are the two addresses of its connection."""

    method: str
    host: str
    uri: str
    client: str
    server: str
    authorization: str
    copy_source: str = ""


@dataclass(frozen=True)
class Allow:
    """Pass the request on to the store of `account`."""

    account: str


@dataclass(frozen=True)
class Answer:
    """Answer the request in the store's place: an error (status, Azure's code and message), or a fact the store does
    not know.
    """

    status: int
    code: str
    message: str
    detail: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def packed(self) -> str:
        """Return the answer as one header value."""
        return urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def unpacked(cls, value: str) -> Answer:
        """Given a header value, return its answer; one that cannot be read is a 500 (never a pass)."""
        try:
            fields: dict[str, Any] = json.loads(urlsafe_b64decode(value))
            return cls(
                **{
                    **fields,
                    "headers": tuple((name, text) for name, text in fields["headers"]),
                }
            )
        except (ValueError, TypeError, KeyError):
            return cls(
                500,
                "InternalError",
                "The sandbox's authorizer gave no readable answer.",
            )


_CHALLENGE = (
    "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize "
    "resource_id=https://storage.azure.com"
)
_NETWORK = Answer(
    403,
    "AuthorizationFailure",
    "This request is not authorized to perform this operation.",
)
_SHARED_KEY = Answer(
    403,
    "KeyBasedAuthenticationNotPermitted",
    "Key based authentication is not permitted on this storage account.",
)
_MISMATCH = Answer(
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
_UNVERIFIED = Answer(
    403,
    "AuthenticationFailed",
    "Server failed to authenticate the request. Make sure the value of Authorization header "
    "is formed correctly including the signature.",
    "The sandbox verifies Microsoft Entra tokens only, no keys and no SAS.",
)


def decide(cloud: Cloud, facts: Facts, tokens: Tokens, request: Request, now: float) -> Allow | Answer:
    """Given a request, the cloud's facts and the time (seconds since the epoch), return whether it passes.

    The checks come in Azure Storage's order.
    """
    name, _, rest = request.host.partition(":")[0].partition(".")
    account = facts.accounts.get(name)
    if rest != f"blob.{DOMAIN}" or account is None:
        return Answer(
            404,
            "ResourceNotFound",
            f"The sandbox has no storage account that answers to {request.host}.",
        )
    if not _reachable(facts, account, request.server):
        return _NETWORK
    try:
        shared = request.authorization.startswith(("SharedKey ", "SharedKeyLite ")) or "sig" in query_of(request.uri)
        if shared:
            return _shared(account, request.uri)
        claims = _claims(tokens, request.authorization, now)
        if isinstance(claims, Answer):
            return claims
        operation = classify(request.method, request.uri, {"x-ms-copy-source": request.copy_source}, name)
    except UnknownOperation as error:
        return Answer(error.status, error.code, error.message)
    for need in operation.needs:
        home = account if need.account is None else facts.accounts.get(need.account)
        if home is None or not _may(cloud, claims.principal_id, home, need):
            return _MISMATCH
    return _account_information(account) if operation.name == ACCOUNT_INFORMATION else Allow(name)


def _reachable(facts: Facts, account: dict[str, Any], server: str) -> bool:
    """Say whether the account's network rules let a request in at the address it came to."""
    name = account["name"].lower()
    for endpoint in facts.endpoints:
        if (endpoint.address, endpoint.account, endpoint.group) == (
            server,
            name,
            "blob",
        ):
            return endpoint.approved
    properties = account.get("properties", {})
    acls = properties.get("networkAcls") or properties.get("networkRuleSet") or {}
    return (
        server == PUBLIC_ADDRESS
        and properties.get("publicNetworkAccess", "Enabled") == "Enabled"
        and acls.get("defaultAction", "Allow") == "Allow"
    )


def _shared(account: dict[str, Any], uri: str) -> Answer:
    """Answer a shared key or a SAS: refused where the account forbids keys; a user delegation SAS is none, but is not
    verified here.
    """
    delegated = "skoid" in query_of(uri)
    forbidden = account.get("properties", {}).get("allowSharedKeyAccess") is False
    return _SHARED_KEY if forbidden and not delegated else _UNVERIFIED


def _claims(tokens: Tokens, authorization: str, now: float) -> Claims | Answer:
    """Given the Authorization header, return the caller's claims, or Azure's 401 with its challenge."""
    challenge = (("WWW-Authenticate", _CHALLENGE),)
    if not authorization:
        return Answer(
            401,
            "NoAuthenticationInformation",
            "Server failed to authenticate the request. Please refer to the information in "
            "the www-authenticate header.",
            headers=challenge,
        )
    scheme, _, token = authorization.partition(" ")
    verified = (
        tokens.verify(token.strip(), now)
        if scheme.lower() == "bearer"
        else Refusal(f"The scheme {scheme} is not supported.")
    )
    if isinstance(verified, Refusal):
        return Answer(
            401,
            "InvalidAuthenticationInfo",
            "Server failed to authenticate the request. Please refer to the information in the "
            "www-authenticate header.",
            verified.detail,
            challenge,
        )
    return verified


def _may(cloud: Cloud, principal: str, account: dict[str, Any], need: Need) -> bool:
    """Say whether the principal has one of the needed actions at the container (or the account)."""
    scope = container_scope(account["id"], need.container) if need.container else account["id"]
    ask = cloud.decide if need.data else cloud.decide_action
    return any(ask(principal, action, scope) for action in need.actions)


def _account_information(account: dict[str, Any]) -> Answer:
    """Answer Get Account Information from the account itself: Azurite would call every account flat (no hierarchical
    namespace).
    """
    hierarchical = bool(account.get("properties", {}).get("isHnsEnabled"))
    return Answer(
        200,
        "",
        "",
        headers=(
            ("x-ms-sku-name", (account.get("sku") or {}).get("name", "Standard_LRS")),
            ("x-ms-account-kind", account.get("kind", "StorageV2")),
            ("x-ms-is-hns-enabled", str(hierarchical).lower()),
        ),
    )
