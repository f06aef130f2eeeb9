"""Stands between the engine and a policy pack, because a pack reads its stack from its environment when it starts.

The engine starts a pack first and tells it the stack afterwards (ConfigureStack). So the engine gets this proxy's port,
the pack starts when the stack is known, and every later call is passed on unread. Pulumi's own hosts do the same
(sdk/v3/policy_proxy.go).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import analyzer_pb2

MESSAGE_LIMIT = 400 << 20  # bytes; the SDK's own limit
LIMITS = [("grpc.max_receive_message_length", MESSAGE_LIMIT), ("grpc.max_send_message_length", MESSAGE_LIMIT)]
SERVICE = "/pulumirpc.Analyzer/"
# Given the stack's variables, start the pack and return its port. Raises RuntimeError if it says none.
StartPack = Callable[[Mapping[str, str]], int]


def stack_env(request: analyzer_pb2.AnalyzerStackConfigureRequest) -> dict[str, str]:
    """Given what the engine says about the stack, return the variables that `python -m pulumi.policy` reads."""
    variables = {
        "PULUMI_PROJECT": request.project,
        "PULUMI_STACK": request.stack,
        "PULUMI_DRY_RUN": "true" if request.dry_run else "false",
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
    }
    # File backends have no organization; the SDK has its own word for that.
    return {**variables, "PULUMI_ORGANIZATION": request.organization} if request.organization else variables


class PolicyProxy(grpc.GenericRpcHandler):
    """A gRPC server in front of one pack."""

    def __init__(self, start_pack: StartPack) -> None:
        self._start_pack = start_pack
        self._once = threading.Lock()
        self._pack: grpc.Channel | None = None
        self._failure: str | None = None
        self._server = grpc.server(futures.ThreadPoolExecutor(16), handlers=[self], options=LIMITS)
        self.port: int = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.stop(None)

    def service(self, call: Any) -> Any:
        """Given a call's details, return what answers it: three calls are ours, everything else is the pack's."""
        name = call.method.removeprefix(SERVICE)
        if name == "Handshake":
            return _answer(lambda request, context: analyzer_pb2.AnalyzerHandshakeResponse().SerializeToString())
        if name == "ConfigureStack":
            return _answer(self._configure_stack)
        if name == "Cancel":
            return _answer(self._cancel)
        return _answer(lambda request, context: self._pass_on(call.method, request, context))

    def _configure_stack(self, request: bytes, context: Any) -> bytes:
        stack = analyzer_pb2.AnalyzerStackConfigureRequest.FromString(request)
        self._started(stack_env(stack), context)
        try:
            self._pass_on(SERVICE + "ConfigureStack", request, context)
        except _Refused as refused:
            if refused.code != grpc.StatusCode.UNIMPLEMENTED:  # packs of today do not know it: that is fine
                context.abort(refused.code, refused.details)
        return bytes(analyzer_pb2.AnalyzerStackConfigureResponse().SerializeToString())

    def _cancel(self, request: bytes, context: Any) -> bytes:
        if self._pack is not None:
            self._pass_on(SERVICE + "Cancel", request, context)
        return bytes(empty_pb2.Empty().SerializeToString())

    def _started(self, variables: Mapping[str, str], context: Any) -> grpc.Channel:
        """Start the pack if it is not running yet and return the channel to it; say so to the engine if it fails."""
        with self._once:
            if self._pack is None and self._failure is None:
                try:
                    port = self._start_pack(variables)
                except (OSError, RuntimeError) as error:
                    self._failure = f"the policy pack did not start: {error}"
                else:
                    self._pack = grpc.insecure_channel(f"127.0.0.1:{port}", options=LIMITS)
        if self._pack is None:
            context.abort(grpc.StatusCode.UNAVAILABLE, self._failure)
        return self._pack

    def _pass_on(self, method: str, request: bytes, context: Any) -> bytes:
        channel = self._started({}, context)
        try:
            return bytes(channel.unary_unary(method)(request))
        except grpc.RpcError as error:
            if method.endswith("ConfigureStack"):
                raise _Refused(error.code(), error.details()) from error
            context.abort(error.code(), error.details())
            raise


class _Refused(Exception):
    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code, self.details = code, details


def _answer(function: Callable[[bytes, Any], bytes]) -> Any:
    """Given a function on raw bytes, return the handler of a unary call. Nothing is decoded that is only passed on."""
    return grpc.unary_unary_rpc_method_handler(function)


def first_port(lines: Iterable[bytes]) -> int:
    """Given a pack's stdout, return the port of its first line. Raise RuntimeError if that is no port."""
    line = next(iter(lines), b"").strip()
    if not line.isdigit():
        raise RuntimeError(f"its first line must be its port, not {line.decode(errors='replace')!r}")
    return int(line)
