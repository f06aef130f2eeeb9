"""The instance metadata service at 169.254.169.254: tokens of the caller's managed identities, and what the caller's VM
is.

The caller is known by its source address → network interface → virtual machine, as the fabric knows it in Azure.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sandbox.identity.instance import find_vm, instance_document
from sandbox.identity.tokens import Identity, Tokens

if TYPE_CHECKING:
    from sandbox.cloud import Cloud

ADDRESS = "169.254.169.254"
PORT = 80
TOKEN_API_VERSIONS = frozenset({"2018-02-01", "2019-08-01"})
_LOG = logging.getLogger("sandbox.imds")

Caller = Callable[[web.Request], str]


def make_app(
    cloud: Cloud,
    tokens: Tokens,
    *,
    clock: Callable[[], float] = time.time,
    caller: Caller | None = None,
) -> web.Application:
    """Given the cloud and its tokens, return the IMDS application (serve it on 169.254.169.254:80 of the sandbox only).

    `clock` returns seconds since the epoch; `caller` names the source address of a request (default: its peer).
    """
    service = _Imds(cloud, tokens, clock, caller or (lambda request: request.remote or ""))
    app = web.Application(middlewares=[_guard])
    app.router.add_get("/metadata/identity/oauth2/token", service.token)
    app.router.add_get("/metadata/instance", service.instance)
    app.router.add_get("/metadata/instance/{path:.+}", service.instance)
    return app


@web.middleware
async def _guard(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Refuse what a forwarded or forged request looks like: IMDS answers only direct requests that carry `Metadata:
    true`.
    """
    if "X-Forwarded-For" in request.headers:
        return _problem(
            "invalid_request",
            "Requests that carry an X-Forwarded-For header are not served (proxy between caller and IMDS?)",
        )
    if request.headers.get("Metadata", "").lower() != "true":
        return _problem("invalid_request", "Required metadata header not specified")
    return await handler(request)


class _Imds:
    """The two endpoints over one cloud."""

    def __init__(self, cloud: Cloud, tokens: Tokens, clock: Callable[[], float], caller: Caller) -> None:
        self._cloud, self._tokens, self._clock, self._caller = (
            cloud,
            tokens,
            clock,
            caller,
        )

    async def token(self, request: web.Request) -> web.Response:
        """GET /metadata/identity/oauth2/token: the access token of one of the caller's identities."""
        query = request.query
        if query.get("api-version") not in TOKEN_API_VERSIONS:
            return _problem(
                "invalid_request",
                "api-version is invalid or was not specified in the request (use 2018-02-01)",
            )
        resource = query.get("resource", "")
        if not resource:
            return _problem("invalid_request", "Required query variable 'resource' is missing")
        address = self._caller(request)
        vm = find_vm(self._cloud, address)
        if vm is None:
            return _problem(
                "invalid_request",
                f"Identity not found: no virtual machine of the sandbox has the address {address}",
            )
        chosen = choose_identity(vm, attached(self._cloud, vm), query)
        if isinstance(chosen, str):
            _LOG.info("token refused to %s (%s): %s", vm["name"], address, chosen)
            return _problem("invalid_request", chosen)
        now = self._clock()
        life = int(self._tokens.life_s)
        _LOG.info(
            "token for %s to %s (%s), resource %s",
            chosen.client_id,
            vm["name"],
            address,
            resource,
        )
        return web.json_response(
            {
                "access_token": self._tokens.mint(chosen, resource, now, life),
                "client_id": chosen.client_id,
                "expires_in": str(life),
                "expires_on": str(int(now) + life),
                "ext_expires_in": str(life),
                "not_before": str(int(now) - 60),
                "resource": resource,
                "token_type": "Bearer",
            }
        )

    async def instance(self, request: web.Request) -> web.Response:
        """GET /metadata/instance[/path]: the whole document, or a branch of it, or (format=text) one leaf."""
        if not request.query.get("api-version"):
            return web.json_response(
                {
                    "error": "Bad request. api-version was not specified in the request",
                    "newest-versions": ["2021-12-13", "2021-11-15", "2021-11-01"],
                },
                status=400,
            )
        address = self._caller(request)
        vm = find_vm(self._cloud, address)
        if vm is None:
            return web.json_response(
                {"error": f"Not found: no virtual machine of the sandbox has the address {address}"},
                status=404,
            )
        node: Any = instance_document(self._cloud, vm)
        for part in request.match_info.get("path", "").strip("/").split("/") if request.match_info.get("path") else ():
            node = _descend(node, part)
            if node is None:
                return web.json_response(
                    {"error": f"Not found: the instance document has no {request.path}"},
                    status=404,
                )
        if isinstance(node, (dict, list)):
            return web.json_response(node)
        return web.Response(text=str(node), content_type="text/plain")


def attached(cloud: Cloud, vm: Mapping[str, Any]) -> list[Identity]:
    """Given a VM, return the user-assigned identities attached to it that exist: a deleted one gives no tokens."""
    ids: Iterable[str] = ((vm.get("identity") or {}).get("userAssignedIdentities") or {}).keys()
    return [Identity.of(resource) for resource in (cloud.get(rid) for rid in ids) if resource is not None]


def choose_identity(vm: Mapping[str, Any], users: list[Identity], query: Mapping[str, str]) -> Identity | str:
    """Given a VM, its user-assigned identities and the request's query, return the identity meant, or why there is
    none.

    No selector means the system-assigned identity, else the only user-assigned one.
    """
    selectors = {
        "client_id": "client_id",
        "object_id": "principal_id",
        "principal_id": "principal_id",
        "mi_res_id": "resource_id",
        "msi_res_id": "resource_id",
    }
    given = [(name, query[name]) for name in selectors if query.get(name)]
    system = _system_assigned(vm)
    if len(given) > 1:
        return f"Only one of client_id, object_id and mi_res_id may be given; got {', '.join(n for n, _ in given)}"
    if given:
        name, wanted = given[0]
        for identity in [*users, *([system] if system else [])]:
            if getattr(identity, selectors[name]).lower() == wanted.lower():
                return identity
        return "Identity not found"
    if system:
        return system
    if len(users) == 1:
        return users[0]
    if users:
        return (
            "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity "
            "in the token request"
        )
    return "Identity not found"


def _system_assigned(vm: Mapping[str, Any]) -> Identity | None:
    """Return the VM's system-assigned identity when it has one (its application id is not in the VM's body: the
    principal's stands in).
    """
    identity = vm.get("identity") or {}
    if "SystemAssigned" not in str(identity.get("type", "")) or not identity.get("principalId"):
        return None
    return Identity(
        identity["principalId"],
        identity.get("clientId") or identity["principalId"],
        identity.get("tenantId", ""),
        vm["id"],
    )


def _descend(node: Any, part: str) -> Any:
    """Return the child `part` of a branch of the instance document, or None."""
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and part.isdigit() and int(part) < len(node):
        return node[int(part)]
    return None


def _problem(error: str, description: str) -> web.Response:
    """Return IMDS's 400: the SDKs read it as 'this identity cannot be had here' and do not retry."""
    return web.json_response({"error": error, "error_description": description}, status=400)
