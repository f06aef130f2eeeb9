"""The one process of a running sandbox: cloud, ARM face, data plane and nodes on one asyncio loop.

It is a child of sandbox.init, inside the namespaces. Blocking work (booting a node, the `ip` command) runs in threads.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from sandbox import arm, console, dial, packages
from sandbox.cloud import Cloud
from sandbox.faults import Faults, World
from sandbox.gateway.endpoints import wanted_addresses
from sandbox.gateway.service import Gateway
from sandbox.gateway.tls import ensure_ca
from sandbox.identity.tokens import Tokens
from sandbox.layout import Layout
from sandbox.nodes import network, placement
from sandbox.nodes.supervisor import Supervisor

LOG = logging.getLogger("sandbox")
PLACED = (
    "microsoft.network/virtualnetworks",
    "microsoft.network/privateendpoints",
    "microsoft.network/networkinterfaces",
)
T = TypeVar("T")


class StoreBehind:
    """The gateway's stores for threads: each call waits for the loop."""

    def __init__(self, gateway: Gateway, loop: asyncio.AbstractEventLoop) -> None:
        self._stores, self._loop = gateway.azurites, loop

    def store_list(self, account: str, container: str) -> list[str]:
        return self._wait(self._stores.store_list(account, container))

    def store_delete(self, account: str, container: str, name: str) -> bytes:
        content = self._wait(self._stores.store_get(account, container, name))
        self._wait(self._stores.store_delete(account, container, name))
        return content

    def store_put(self, account: str, container: str, name: str, content: bytes) -> None:
        self._wait(self._stores.store_put(account, container, name, content))

    def _wait(self, work: Awaitable[T]) -> T:
        async def whole() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result(60)


class Controller:
    """Builds the parts in the order in which they need each other, and ends them in the reverse one."""

    def __init__(self, layout: Layout, options: argparse.Namespace) -> None:
        self.layout, self.options = layout, options
        self.cloud = Cloud(layout.cloud_file)
        self.tokens = Tokens.open(layout.keys / "token.pem")
        self.addresses = network.Addresses()
        self.gateway = Gateway(layout, self.cloud, self.tokens, azurite_argv(options.azurite))
        self.nodes = Supervisor(layout, self.cloud, options.image, ca_pem=layout.ca_pem)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. The ARM socket appears last: whoever can connect finds everything ready."""
        layout, loop = self.layout, asyncio.get_running_loop()
        ensure_ca(layout)
        self.place()
        self.cloud.subscribe(lambda event, resource: self.place() if _places(resource) else None)
        repository = asyncio.create_task(
            asyncio.to_thread(packages.build, layout.packages, self.options.azcopy, self.options.blobfuse2)
        )
        await self.gateway.start()
        async with contextlib.AsyncExitStack() as ending:
            ending.push_async_callback(self.gateway.stop)
            ending.push_async_callback(asyncio.to_thread, self.nodes.shutdown)
            await repository  # a node's cloud-init may ask for it at once
            await asyncio.to_thread(self.nodes.restore)
            faults = Faults(
                World(self.cloud, self.nodes, StoreBehind(self.gateway, loop), layout.root / "faults"),
                layout.faults_file,
            )
            faults.resume()
            await dial.serve(layout.dial_socket, self.resolve)
            app = arm.make_app(self.cloud, self.nodes)
            console.add_routes(app, self.cloud, self.nodes, faults)
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            ending.push_async_callback(runner.cleanup)
            await web.UnixSite(runner, str(layout.arm_socket)).start()
            LOG.info("ready")
            await stop.wait()
            LOG.info("stopping")

    def place(self) -> None:
        """Give the fabric the addresses that the cloud has now."""
        found = placement.gateways(
            self.cloud.list("Microsoft.Network/virtualNetworks/subnets"),
            self.cloud.list("Microsoft.Network/virtualNetworks"),
        )
        self.addresses.sync(found | {f"{address}/32" for address in wanted_addresses(self.cloud)})

    def resolve(self, host: str) -> str:
        """Given a node's name or an address, return the address."""
        return self.nodes.nodes[host].nic.address if host in self.nodes.nodes else host


def azurite_argv(azurite: Path) -> list[str]:
    """Given Azurite's entry point, return how its blob service is run."""
    return ["node", str(azurite)] if azurite.suffix == ".js" else [str(azurite)]


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the controller's arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sandbox", required=True)
    parser.add_argument("--checkout", type=Path, required=True)
    for name in ("image", "azcopy", "azurite"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--blobfuse2", type=Path)
    return parser.parse_args(argv)


def _places(resource: dict[str, Any]) -> bool:
    return str(resource["type"]).lower().startswith(PLACED)


@contextlib.contextmanager
def _until_signalled(loop: asyncio.AbstractEventLoop) -> Iterator[asyncio.Event]:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    yield stop


async def serve(options: argparse.Namespace) -> None:
    """Run the sandbox's controller until it is told to stop."""
    with _until_signalled(asyncio.get_running_loop()) as stop:
        await Controller(Layout.of(options.checkout), options).run(stop)


def main(argv: list[str]) -> int:
    """Given the arguments, be the controller."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(serve(parse(argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
