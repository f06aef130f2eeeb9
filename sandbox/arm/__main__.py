"""`python -m sandbox.arm --socket S --state F`: the control plane alone, without machines; for tests of programs and
policies."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from aiohttp import web

from sandbox.arm.app import make_app
from sandbox.arm.compute import NullCompute
from sandbox.cloud import Cloud


async def serve(socket: Path, state: Path) -> None:
    """Serve the ARM face with no machines behind it until a signal ends it."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(make_app(Cloud(state), NullCompute()), access_log=None)
    await runner.setup()
    await web.UnixSite(runner, str(socket)).start()
    print(f"serving on {socket}", flush=True)
    await stop.wait()
    await runner.cleanup()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(serve(options.socket, options.state))


if __name__ == "__main__":
    main()
