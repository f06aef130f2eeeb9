"""ARM over HTTP: PUT, PATCH, GET, DELETE and the actions on virtual machines, with its error bodies and async
operations."""

from __future__ import annotations

import asyncio
import copy
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from sandbox.arm.compute import Compute, ComputeError
from sandbox.arm.machines import create_missing, instance_view, targets, work_of
from sandbox.cloud import Cloud, Refusal, scale_sets, subscription
from sandbox.cloud.ids import is_below, parse
from sandbox.cloud.machines import INSTANCE, INSTANCE_NIC, SCALE_SET, VM, as_node, boots, is_machine, model_id

LOG = logging.getLogger("sandbox.arm")
VNET = "Microsoft.Network/virtualNetworks"


class Arm:
    """The requests of one sandbox. VM operations go on in the background; their state is in the resource and the
    operation."""

    def __init__(self, cloud: Cloud, compute: Compute) -> None:
        self.cloud, self.compute = cloud, compute
        self._operations: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._placing: set[str] = set()
        self._networks: set[str] = set()
        self._allocation = asyncio.Lock()

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
            subscription.may(self.cloud.subscription(), request.method, path)
            if request.method == "PUT":
                return await self._put(path, await _body(request))
            if request.method == "PATCH":
                return await self._patch(path, await _body(request))
            if request.method == "DELETE":
                return await self._delete(path)
            if request.method == "POST":
                return await self._post(path, await _body(request) if request.can_read_body else {})
            expand = "instanceview" in request.query.get("$expand", "").lower()
            return await self._get(path, expand=expand, filtered=request.query.get("$filter", ""))
        except Refusal as refused:
            return _error(refused.status, refused.code, refused.message)

    # -- reading
    async def _get(self, path: str, *, expand: bool, filtered: str) -> web.Response:
        if path.lower().endswith("/instanceview"):
            resource = self._existing(path.rsplit("/", 1)[0])
            return web.json_response(instance_view(self.cloud, self.compute, resource))
        asked = subscription.answer(self.cloud, path, filtered)
        if asked is not None:
            return web.json_response({"value": asked})
        try:
            parse(path)
        except ValueError:
            return self._list(path, expand)
        return web.json_response(self._shown(self._existing(path), expand))

    def _list(self, path: str, expand: bool) -> web.Response:
        """A collection: `…/providers/Microsoft.Storage/storageAccounts`, or `…/resources`."""
        scope, _, tail = path.rpartition("/providers/")
        if path.lower().endswith("/resources"):
            found = [r for r in self.cloud.list() if is_below(r["id"], path.rsplit("/", 1)[0])]
        elif path.lower().endswith("/resourcegroups"):
            found = self.cloud.list("Microsoft.Resources/resourceGroups")
        elif scope:
            words = tail.split("/")
            kind = "/".join([words[0], *words[1::2]])
            # All interfaces of a scale set in one answer is a collection of its own in ARM.
            kind = INSTANCE_NIC if kind == f"{SCALE_SET}/networkInterfaces" else kind
            scope = path.rsplit("/", 1)[0] if len(words) > 2 else scope
            found = [r for r in self.cloud.list(kind) if is_below(r["id"], scope)]
        else:
            raise Refusal(404, "InvalidResourceId", f"{path!r} is no resource and no collection.")
        return web.json_response({"value": [self._shown(r, expand) for r in found]})

    def _existing(self, rid: str) -> dict[str, Any]:
        found = self.cloud.get(rid)
        if found is None:
            kind = parse(rid).type
            code = "ResourceGroupNotFound" if kind.endswith("/resourceGroups") else "ResourceNotFound"
            raise Refusal(404, code, f"The Resource '{rid}' was not found.")
        return found

    def _shown(self, resource: dict[str, Any], expand: bool = False) -> dict[str, Any]:
        shown = copy.deepcopy(resource)
        if expand and is_machine(shown):
            shown["properties"]["instanceView"] = instance_view(self.cloud, self.compute, shown)
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
        status, kind = 200 if known else 201, parse(path).type.lower()
        if kind not in (VM.lower(), SCALE_SET.lower()):
            async with self._writing(path):
                resource = await asyncio.to_thread(self.cloud.put, path, body)
            return web.json_response(self._shown(resource), status=status)
        body["properties"]["provisioningState"] = "Updating" if known else "Creating"
        resource = await asyncio.to_thread(self.cloud.put, path, body)
        if kind == VM.lower():
            return self._begin(resource, [resource], self.compute.create, status=status, places=True)
        wanted, surplus = scale_sets.divide(self.cloud, resource)
        return self._begin(resource, wanted, create_missing(self.compute), surplus=surplus, status=status, places=True)

    @asynccontextmanager
    async def _writing(self, path: str) -> AsyncIterator[None]:
        """Azure takes one write on a VNet at a time, its subnets and peerings included, and refuses the others."""
        network, inside, _ = path.lower().partition("/subnets/")
        network = network if inside else network.partition("/virtualnetworkpeerings/")[0]
        seconds = self.cloud.subscription().network_s
        if "/virtualnetworks/" not in network or not seconds:
            yield
            return
        if network in self._networks:
            raise Refusal(
                429,
                "AnotherOperationInProgress",
                f"Another operation on this or dependent resource is in progress: {network}.",
            )
        self._networks.add(network)
        try:
            yield
            await asyncio.sleep(seconds)
        finally:
            self._networks.discard(network)

    async def _patch(self, path: str, body: dict[str, Any]) -> web.Response:
        have = self._existing(path)
        return await self._put(path, _merged({k: v for k, v in have.items() if k not in ("id", "name", "type")}, body))

    async def _delete(self, path: str) -> web.Response:
        found = self.cloud.get(path)
        if found is None:
            return web.Response(status=204)
        self._refuse_while_busy(path)
        doomed = [as_node(r) for r in [found, *self.cloud.below(path)] if is_machine(r)]
        if found["type"] == INSTANCE:
            await asyncio.to_thread(scale_sets.remove, self.cloud, [found])
        else:
            await asyncio.to_thread(self.cloud.delete, path)
        for vm in doomed:
            await asyncio.to_thread(self.compute.delete, vm)
        return web.Response(status=200)

    async def _post(self, path: str, body: dict[str, Any]) -> web.Response:
        rid, _, action = path.rpartition("/")
        if action.lower() == "listkeys":
            raise Refusal(
                403, "AuthorizationFailed", "Account keys are not handed out: no program of this cluster may use them."
            )
        if action.lower() == "checknameavailability":
            return web.json_response(subscription.name_available(self.cloud, str(body.get("name", ""))))
        resource = self._existing(rid)
        work = work_of(self.compute, resource, action)
        if work is None:
            raise Refusal(404, "NotFound", f"{resource['type']} has no action {action!r} in this sandbox.")
        self._refuse_while_busy(rid)
        those = targets(self.cloud, resource, action, body)
        if action.lower() == "delete":
            await asyncio.to_thread(scale_sets.remove, self.cloud, those)
        elif action.lower() == "manualupgrade":
            await asyncio.to_thread(scale_sets.upgrade, self.cloud, resource, those)
        return self._begin(resource, those, work, status=202)

    # -- async operations
    def _begin(
        self,
        owner: dict[str, Any],
        vms: list[dict[str, Any]],
        work: Callable[[dict[str, Any]], None],
        *,
        surplus: list[dict[str, Any]] | None = None,
        status: int,
        places: bool = False,
    ) -> web.Response:
        """Do `work` on the VMs (a VM itself, or a scale set's instances) and remove the surplus, in the background.
        `places` = each VM needs a place in the region first."""
        operation = str(uuid.uuid4())
        self._operations[operation] = {"name": operation, "status": "InProgress"}
        running = self._run(operation, owner, vms, work, surplus or [], places)
        self._tasks[owner["id"].lower()] = asyncio.create_task(running)
        subscription = owner["id"].split("/resourceGroups/")[0]
        where = f"{subscription}/providers/Microsoft.Sandbox/operations/{operation}"
        return web.json_response(owner, status=status, headers={"Azure-AsyncOperation": where, "Retry-After": "1"})

    async def _run(
        self,
        operation: str,
        owner: dict[str, Any],
        vms: list[dict[str, Any]],
        work: Callable[[dict[str, Any]], None],
        surplus: list[dict[str, Any]],
        places: bool,
    ) -> None:
        gone = await asyncio.gather(*(self._work(vm, self._take, always=True) for vm in surplus))
        done = await asyncio.gather(*(self._work(vm, work, places=places) for vm in vms))
        errors = [error for error in [*gone, *done] if error]
        state = "Failed" if errors else "Succeeded"
        ends = zip([*surplus, *vms], [*gone, *done], strict=True)
        states = {vm["id"]: "Failed" if error else "Succeeded" for vm, error in ends}
        await asyncio.to_thread(self._settle, {owner["id"]: state, **states})
        self._placing -= {vm["id"].lower() for vm in vms}
        self._operations[operation] = {"name": operation, "status": state, **({"error": errors[0]} if errors else {})}

    def _take(self, vm: dict[str, Any]) -> None:
        self.compute.delete(vm)
        self.cloud.delete(vm["id"])

    async def _work(
        self,
        vm: dict[str, Any],
        work: Callable[[dict[str, Any]], None],
        *,
        always: bool = False,
        places: bool = False,
    ) -> dict[str, str] | None:
        """Do the work on one machine; return the error in ARM's shape, or None."""
        full = copy.deepcopy(as_node(vm))
        custom = self.cloud.secret(model_id(vm)).get("customData")
        full["properties"].setdefault("osProfile", {}).update({"customData": custom} if custom else {})
        error = None
        try:
            if places:
                async with self._allocation:
                    subscription.allocate(self.cloud, vm, self._placing)
                    self._placing.add(vm["id"].lower())
            if always or boots(vm):
                await asyncio.to_thread(work, full)
        except (ComputeError, Refusal) as failed:
            error = {"code": failed.code, "message": failed.message}
        except Exception as failed:
            LOG.exception("%s", vm["id"])
            error = {"code": "InternalExecutionError", "message": f"{type(failed).__name__}: {failed}"}
        return error

    def _settle(self, states: dict[str, str]) -> None:
        current = [resource for resource in map(self.cloud.get, states) if resource is not None]
        for resource in current:
            resource["properties"]["provisioningState"] = states[resource["id"]]
        self.cloud.write(current)

    def _operation(self, name: str) -> web.Response:
        if name not in self._operations:
            raise Refusal(404, "NotFound", f"There is no operation {name}.")
        return web.json_response(self._operations[name])

    def _refuse_while_busy(self, rid: str) -> None:
        owner = rid.lower().split("/virtualmachines/")[0]  # of an instance: its set is at work on it, too
        tasks = [self._tasks.get(each) for each in {rid.lower(), owner}]
        if any(task is not None and not task.done() for task in tasks):
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
