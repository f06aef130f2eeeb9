"""The gateway as one thing that starts, follows the cloud, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from sandbox.gateway import authorizer
from sandbox.gateway.azurite import Azurites
from sandbox.gateway.dns import Dns
from sandbox.gateway.endpoints import ACCOUNT_TYPE, CONTAINER_TYPE, FIXED_ADDRESSES
from sandbox.gateway.nginx import Nginx
from sandbox.gateway.tls import ensure_ca
from sandbox.identity import imds

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.identity.tokens import Tokens
    from sandbox.layout import Layout

_LOG = logging.getLogger("sandbox.gateway")
_SETTLE_S = 0.05  # changes come in bursts: `pulumi up` makes dozens of resources


class Gateway:
    """Authorizer, IMDS, resolver, nginx and stores over one cloud."""

    def __init__(self, layout: Layout, cloud: Cloud, tokens: Tokens, azurite_argv: list[str]) -> None:
        self._layout, self._cloud, self._tokens = layout, cloud, tokens
        self.azurites = Azurites(layout, cloud, azurite_argv)
        self._dns, self._nginx = Dns(layout, cloud), Nginx(layout)
        self._runners: list[web.AppRunner] = []
        self._deleted: deque[dict[str, Any]] = deque()
        self._changed, self._applying = asyncio.Event(), asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._follower: asyncio.Task[None] | None = None
        self._subscribed = False

    async def start(self) -> None:
        """Start everything. Raise RuntimeError, with what is missing, if an address or a program is; nothing keeps
        running then.
        """
        _require_addresses()
        ensure_ca(self._layout)
        self._loop = asyncio.get_running_loop()
        try:
            await self._serve_apps()
            await self._dns.start()
            await self._nginx.start()
        except BaseException:
            await self.stop()
            raise
        if not self._subscribed:
            self._cloud.subscribe(self._note)
            self._subscribed = True
        self._follower = asyncio.create_task(self._follow(), name="gateway:follow")
        self._changed.set()

    async def apply(self) -> None:
        """Make resolver and stores agree with the cloud as it is now. Raise RuntimeError if one of them cannot."""
        async with self._applying:
            while self._deleted:
                await self._forget(self._deleted.popleft())
            if await self._dns.apply():
                _LOG.info("dns: names changed")
            await self.azurites.reconcile()

    async def stop(self) -> None:
        """Stop everything; state on disk stays."""
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)
            self._follower = None
        await self._nginx.stop()
        await self._dns.stop()
        await self.azurites.stop()
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        self._loop = None

    async def _serve_apps(self) -> None:
        """Serve the authorizer on its unix socket and IMDS on the link-local address."""
        socket_path = self._layout.authorizer_socket
        socket_path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            socket_path.unlink()
        asked = web.AppRunner(authorizer.make_app(self._cloud, self._tokens, self.azurites), access_log=None)
        told = web.AppRunner(imds.make_app(self._cloud, self._tokens), access_log=None)
        self._runners += [asked, told]
        for runner in self._runners:
            await runner.setup()
        await web.UnixSite(asked, str(socket_path)).start()
        socket_path.chmod(0o600)
        await web.TCPSite(told, imds.ADDRESS, imds.PORT).start()

    def _note(self, event: Literal["put", "delete"], resource: dict[str, Any]) -> None:
        """Take note of a change of the cloud; called from any thread."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if event == "delete":
            self._deleted.append(resource)
        loop.call_soon_threadsafe(self._changed.set)

    async def _follow(self) -> None:
        """Apply changes as they come, a burst at once; a failure is logged and the next change tries again."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(_SETTLE_S)
            self._changed.clear()
            try:
                await self.apply()
            except Exception:  # noqa: BLE001 - one bad resource must not end the follower; it is logged in full
                _LOG.exception("the gateway could not follow the cloud; the next change tries again")

    async def _forget(self, resource: dict[str, Any]) -> None:
        """Drop the data of a deleted account or container."""
        kind = resource["type"].lower()
        if kind == ACCOUNT_TYPE.lower():
            await self.azurites.forget_account(resource["name"].lower())
        elif kind == CONTAINER_TYPE.lower():
            parts = resource["id"].split("/")
            await self.azurites.forget_container(parts[-5].lower(), parts[-1])


def _require_addresses() -> None:
    """Raise RuntimeError naming every fixed address that this network namespace lacks."""
    missing = []
    for address in sorted(FIXED_ADDRESSES):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((address, 0))
            except OSError:
                missing.append(address)
    if missing:
        raise RuntimeError(
            f"the bridge lacks {', '.join(missing)}: add wanted_addresses(cloud) before the gateway starts"
        )
