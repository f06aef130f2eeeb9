"""ARM over HTTP: PUT, PATCH, GET, DELETE and the actions on virtual machines, with its error bodies and async
operations."""

from __future__ import annotations

import asyncio
import copy
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from sandbox.arm.compute import Compute, ComputeError
from sandbox.cloud import Cloud, Refusal
from sandbox.cloud.ids import is_below, parse

LOG = logging.getLogger("sandbox.arm")
VM = "Microsoft.Compute/virtualMachines"
VNET = "Microsoft.Network/virtualNetworks"
ACTIONS = {"restart": "restart", "start": "start", "poweroff": "power_off", "deallocate": "deallocate"}
STATES = {"running": "PowerState/running", "stopped": "PowerState/stopped", "deallocated": "PowerState/deallocated"}


class Arm:
    """The requests of one sandbox. VM operations go on in the background; their state is in the resource and the
    operation."""

    def __init__(self, cloud: Cloud, compute: Compute) -> None:
        self.cloud, self.compute = cloud, compute
        self._operations: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request below /subscriptions (or an operation's state)."""
        path = request.path.rstrip("/")
        try:
            if "/providers/Microsoft.Sandbox/operations/" in path:
                return self._operation(path.rsplit("/", 1)[1])
            if not request.query.get("api-version"):
                raise Refusal(
                    400, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required."
                )
            if request.method == "PUT":
                return await self._put(path, await _body(request))
            if request.method == "PATCH":
                return await self._patch(path, await _body(request))
            if request.method == "DELETE":
                return await self._delete(path)
            if request.method == "POST":
                return await self._post(path)
            return await self._get(path)
        except Refusal as refused:
            return _error(refused.status, refused.code, refused.message)

    # -- reading
    async def _get(self, path: str) -> web.Response:
        if path.lower().endswith("/instanceview"):
            vm = self._existing(path.rsplit("/", 1)[0])
            state = STATES.get(self.compute.state(vm), "PowerState/unknown")
            return web.json_response({"statuses": [{"code": state, "level": "Info"}]})
        try:
            parse(path)
        except ValueError:
            return self._list(path)
        return web.json_response(self._shown(self._existing(path)))

    def _list(self, path: str) -> web.Response:
        """A collection: `…/providers/Microsoft.Storage/storageAccounts`, or `…/resources`."""
        scope, _, tail = path.rpartition("/providers/")
        if path.lower().endswith("/resources"):
            found = [r for r in self.cloud.list() if is_below(r["id"], path.rsplit("/", 1)[0])]
        elif path.lower().endswith("/resourcegroups"):
            found = self.cloud.list("Microsoft.Resources/resourceGroups")
        elif scope:
            words = tail.split("/")
            kind = "/".join([words[0], *words[1::2]])
            found = [r for r in self.cloud.list(kind) if is_below(r["id"], scope)]
        else:
            raise Refusal(404, "InvalidResourceId", f"{path!r} is no resource and no collection.")
        return web.json_response({"value": [self._shown(r) for r in found]})

    def _existing(self, rid: str) -> dict[str, Any]:
        found = self.cloud.get(rid)
        if found is None:
            kind = parse(rid).type
            code = "ResourceGroupNotFound" if kind.endswith("/resourceGroups") else "ResourceNotFound"
            raise Refusal(404, code, f"The Resource '{rid}' was not found.")
        return found

    def _shown(self, resource: dict[str, Any]) -> dict[str, Any]:
        shown = copy.deepcopy(resource)
        if shown["type"] == VNET:
            shown["properties"]["subnets"] = [
                r for r in self.cloud.below(shown["id"]) if r["type"] == f"{VNET}/subnets"
            ]
        return shown

    # -- changing
    async def _put(self, path: str, body: dict[str, Any]) -> web.Response:
        self._refuse_while_busy(path)
        known = self.cloud.get(path)
        body.setdefault("properties", {}).pop("provisioningState", None)
        if parse(path).type.lower() != VM.lower():
            resource = await asyncio.to_thread(self.cloud.put, path, body)
            return web.json_response(self._shown(resource), status=200 if known else 201)
        body["properties"]["provisioningState"] = "Updating" if known else "Creating"
        resource = await asyncio.to_thread(self.cloud.put, path, body)
        return self._begin(resource, self.compute.create, status=200 if known else 201)

    async def _patch(self, path: str, body: dict[str, Any]) -> web.Response:
        have = self._existing(path)
        return await self._put(path, _merged({k: v for k, v in have.items() if k not in ("id", "name", "type")}, body))

    async def _delete(self, path: str) -> web.Response:
        found = self.cloud.get(path)
        if found is None:
            return web.Response(status=204)
        self._refuse_while_busy(path)
        vms = [r for r in [found, *self.cloud.below(path)] if r["type"] == VM]
        await asyncio.to_thread(self.cloud.delete, path)
        for vm in vms:
            await asyncio.to_thread(self.compute.delete, vm)
        return web.Response(status=200)

    async def _post(self, path: str) -> web.Response:
        rid, _, action = path.rpartition("/")
        if action.lower() == "listkeys":
            raise Refusal(
                403, "AuthorizationFailed", "Account keys are not handed out: no program of this cluster may use them."
            )
        vm = self._existing(rid)
        if vm["type"] != VM or action.lower() not in ACTIONS:
            raise Refusal(404, "NotFound", f"{vm['type']} has no action {action!r} in this sandbox.")
        self._refuse_while_busy(rid)
        return self._begin(vm, getattr(self.compute, ACTIONS[action.lower()]), status=202)

    # -- async operations
    def _begin(self, vm: dict[str, Any], work: Callable[[dict[str, Any]], None], *, status: int) -> web.Response:
        operation = str(uuid.uuid4())
        self._operations[operation] = {"name": operation, "status": "InProgress"}
        self._tasks[vm["id"].lower()] = asyncio.create_task(self._run(operation, vm, work))
        subscription = vm["id"].split("/resourceGroups/")[0]
        where = f"{subscription}/providers/Microsoft.Sandbox/operations/{operation}"
        return web.json_response(vm, status=status, headers={"Azure-AsyncOperation": where, "Retry-After": "1"})

    async def _run(self, operation: str, vm: dict[str, Any], work: Callable[[dict[str, Any]], None]) -> None:
        full = copy.deepcopy(vm)
        full["properties"].setdefault("osProfile", {}).update(self.cloud.secret(vm["id"]))
        state, error = "Succeeded", None
        try:
            await asyncio.to_thread(work, full)
        except ComputeError as failed:
            state, error = "Failed", {"code": failed.code, "message": failed.message}
        except Exception as failed:
            LOG.exception("%s", vm["id"])
            state, error = "Failed", {"code": "InternalExecutionError", "message": f"{type(failed).__name__}: {failed}"}
        current = self.cloud.get(vm["id"])
        if current is not None:
            current["properties"]["provisioningState"] = state
            await asyncio.to_thread(self.cloud.put, vm["id"], current)
        self._operations[operation] = {"name": operation, "status": state, **({"error": error} if error else {})}

    def _operation(self, name: str) -> web.Response:
        if name not in self._operations:
            raise Refusal(404, "NotFound", f"There is no operation {name}.")
        return web.json_response(self._operations[name])

    def _refuse_while_busy(self, rid: str) -> None:
        task = self._tasks.get(rid.lower())
        if task is not None and not task.done():
            raise Refusal(409, "OperationNotAllowed", f"Another operation is in progress on {rid}. Please retry later.")


def make_app(cloud: Cloud, compute: Compute) -> web.Application:
    """Given the cloud and whoever runs its machines, return the ARM application."""
    arm = Arm(cloud, compute)
    app = web.Application(client_max_size=16 << 20)
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]] = arm.handle
    app.router.add_route("*", "/subscriptions/{tail:.*}", handle)
    return app


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        value = await request.json()
    except ValueError as error:
        raise Refusal(400, "InvalidRequestContent", f"The request content was invalid: {error}.") from error
    if not isinstance(value, dict):
        raise Refusal(400, "InvalidRequestContent", "The request content was invalid: not an object.")
    return value


def _merged(have: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: value for key, value in more.items() if not (isinstance(value, dict) and isinstance(have.get(key), dict))
    }
    return {**have, **both, **{k: _merged(have[k], v) for k, v in more.items() if k not in both}}


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response(
        {"error": {"code": code, "message": message}}, status=status, headers={"x-ms-error-code": code}
    )
