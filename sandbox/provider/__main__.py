"""The plugin process: the engine starts it, reads one line (the port) and talks gRPC to it until one of both ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from concurrent import futures
from importlib.metadata import version

import grpc
from pulumi.runtime.proto import provider_pb2_grpc as pbg

from sandbox.provider.arm import ArmClient
from sandbox.provider.servicer import Provider

MESSAGE_BYTES = 400 << 20  # the SDK's own limit
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the engine dies, however it dies: kill -9 of `pulumi up` must not leave us
    behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        sys.exit("the engine was gone before the plugin started")


def main() -> None:
    """Serve until the engine cancels or dies."""
    die_with_parent()
    provider = Provider(ArmClient(os.environ.get("FEEDLINE_ARM_SOCKET", "")), version("pulumi_azure_native"))
    limits = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32), options=limits)
    pbg.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: provider.stop.set())
    print(port, flush=True)
    provider.stop.wait()
    server.stop(grace=1).wait()


if __name__ == "__main__":
    main()
