"""The way in: a unix socket whose first line says `HOST PORT`, then bytes flow both ways.

The operator's ssh stays in the machine's own namespace and comes through here as through a jump host; starting a small
script and one connect is several times faster than entering a namespace with nsenter and a full interpreter.
"""

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable
from pathlib import Path

CHUNK = 1 << 16


async def serve(socket: Path, resolve: Callable[[str], str] = lambda host: host) -> asyncio.Server:
    """Given the socket's path, answer on it; `resolve` turns a node's name into its address."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            host, port = (await asyncio.wait_for(reader.readline(), 5)).decode().split()
            inside = await asyncio.wait_for(asyncio.open_connection(_address(resolve(host)), int(port)), 10)
        except (OSError, ValueError, TimeoutError) as failed:
            writer.write(f"cannot connect: {failed or type(failed).__name__}\n".encode())
            await _close(writer)
            return
        writer.write(b"ok\n")
        await asyncio.gather(_copy(reader, inside[1]), _copy(inside[0], writer))
        await asyncio.gather(_close(inside[1]), _close(writer))

    return await asyncio.start_unix_server(handle, path=str(socket), limit=1 << 20)


def _address(host: str) -> str:
    """Return the address as it is. Raise ValueError for a name: names of the fabric are its nodes' alone."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        raise ValueError(f"no node is called {host}") from None


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until the source ends, then say so to the target while its answer may still come."""
    with contextlib.suppress(ConnectionError):
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        writer.close()
        await writer.wait_closed()
