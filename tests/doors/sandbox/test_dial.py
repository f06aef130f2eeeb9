"""The way in: a byte relay behind a unix socket, and ssh's ProxyCommand in front of it."""

import asyncio
import subprocess
import sys
from pathlib import Path

from sandbox import dial

PROXY = Path(dial.__file__).with_name("ssh_proxy.py")


async def through_the_proxy(folder: Path, host: str, payload: bytes) -> tuple[int, bytes, bytes]:
    """Run an echo server that answers when its input ends, the relay and the proxy; return what the proxy said."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"got:" + await reader.read())
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    relay = await dial.serve(folder / "dial.sock", lambda name: {"gpu-0": "127.0.0.1"}.get(name, name))
    argv = [sys.executable, "-S", "-E", str(PROXY), str(folder / "dial.sock"), host, str(port)]
    try:
        proxy = await asyncio.create_subprocess_exec(
            *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await proxy.communicate(payload)
    finally:
        server.close()
        relay.close()
    return proxy.returncode or 0, out, err


def test_bytes_flow_both_ways_and_an_ended_input_still_gets_its_answer(tmp_path: Path) -> None:
    payload = bytes(range(256)) * 4096
    assert asyncio.run(through_the_proxy(tmp_path, "gpu-0", payload)) == (0, b"got:" + payload, b"")


def test_a_host_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    code, out, err = asyncio.run(through_the_proxy(tmp_path, "nobody", b""))
    assert (code, out) == (1, b"")
    assert b"nobody" in err
    assert b"no node is called nobody" in err


def test_a_sandbox_that_does_not_run_says_how_to_start_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-S", "-E", str(PROXY), str(tmp_path / "none.sock"), "gpu-0", "22"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "start it with ./run shell" in done.stderr
