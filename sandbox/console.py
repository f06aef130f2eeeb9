"""What is not Azure on the controller's socket: /sandbox/health, status, faults and nodes."""

import asyncio
from typing import Any

from aiohttp import web

from sandbox.cloud.machines import as_node, machines, node_name
from sandbox.faults import FaultError, Faults
from sandbox.nodes.supervisor import Supervisor

ACTIONS = {
    "reboot": "restart",
    "restart": "restart",
    "poweroff": "power_off",
    "start": "start",
    "deallocate": "deallocate",
}


def add_routes(app: web.Application, cloud: Any, nodes: Supervisor, faults: Faults) -> None:
    """Given the ARM application, add the sandbox's own routes to it."""

    async def health(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def status(request: web.Request) -> web.Response:
        resources = len(cloud.list())
        return web.json_response({"nodes": nodes.status(), "faults": faults.active(), "resources": resources})

    async def inject(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else {}
        return await _answer(faults.inject, request.match_info["name"], [str(arg) for arg in body.get("args", [])])

    async def revert(request: web.Request) -> web.Response:
        return await _answer(faults.revert, request.match_info["name"])

    async def act(request: web.Request) -> web.Response:
        name, action = request.match_info["name"], request.match_info["action"]
        vm = next((as_node(vm) for vm in machines(cloud) if node_name(vm) == name), None)
        if vm is None or action not in ACTIONS:
            return _error(404, f"no node {name} or no action {action}; actions: {', '.join(ACTIONS)}")
        await asyncio.to_thread(getattr(nodes, ACTIONS[action]), vm)
        return web.json_response({"message": f"node {name}: {nodes.state(vm)}"})

    app.router.add_get("/sandbox/health", health)
    app.router.add_get("/sandbox/status", status)
    app.router.add_put("/sandbox/faults/{name}", inject)
    app.router.add_delete("/sandbox/faults/{name}", revert)
    app.router.add_post("/sandbox/nodes/{name}/{action}", act)


async def _answer(change: Any, *args: Any) -> web.Response:
    """Run a fault's change in a thread; a FaultError is the asker's to read."""
    try:
        return web.json_response({"message": await asyncio.to_thread(change, *args)})
    except FaultError as refused:
        return _error(409, str(refused))


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": "Sandbox", "message": message}}, status=status)
