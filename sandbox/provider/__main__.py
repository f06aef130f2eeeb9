"""The plugin process: the engine starts it, reads one line (the port) and talks gRPC to it until one of both ends."""

from __future__ import annotations

import os
import signal
import threading
from concurrent import futures
from importlib.metadata import version

import grpc
from pulumi.runtime.proto import provider_pb2_grpc as pbg

from sandbox.provider.arm import ArmClient
from sandbox.provider.servicer import Provider

MESSAGE_BYTES = 400 << 20  # the SDK's own limit
WATCH_S = 0.5


def watch_parent(stop: threading.Event) -> None:
    """Set `stop` when the engine is gone, however it went: kill -9 of `pulumi up` must not leave us behind.

    Polled, because the kernel's parent-death signal fires when the engine's *thread* ends that started us.
    """
    parent = os.getppid()
    while os.getppid() == parent and not stop.wait(WATCH_S):
        continue
    stop.set()


def main() -> None:
    """Serve until the engine cancels or dies."""
    provider = Provider(ArmClient(os.environ.get("FEEDLINE_ARM_SOCKET", "")), version("pulumi_azure_native"))
    limits = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32), options=limits)
    pbg.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: provider.stop.set())
    print(port, flush=True)
    threading.Thread(target=watch_parent, args=(provider.stop,), daemon=True).start()
    provider.stop.wait()
    server.stop(grace=1).wait()


if __name__ == "__main__":
    main()
