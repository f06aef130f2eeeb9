"""The LanguageRuntime service: what the engine asks of a language."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import IO, Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from toolchain.language_host import programs
from toolchain.language_host.children import Children, watch_parent
from toolchain.language_host.policy_proxy import LIMITS, PolicyProxy, first_port
from toolchain.versions import pinned

SHOWN_ALREADY = 32  # exit code of the SDK's runner: the person has seen the reason


class Host(language_pb2_grpc.LanguageRuntimeServicer):
    """Answers the engine that started us."""

    def __init__(self, engine: str, runner: Path) -> None:
        self.engine, self.runner, self.children = engine, runner, Children()

    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=pinned()["pulumi"]["version"])

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        with _told(context):
            packages = programs.required_packages(programs.python_of(request.info))
        return language_pb2.GetRequiredPackagesResponse(packages=packages)

    def Run(self, request: Any, context: Any) -> Any:
        """Run the program to its end; what it prints is ours, and so the engine's."""
        with _told(context):
            argv = programs.program_argv(request, self.engine, self.runner)
        child = self.children.start(argv, _folder(request.pwd), programs.program_env(request, os.environ))
        context.add_callback(lambda: _interrupt(child))
        code = self.children.wait(child)
        if code == SHOWN_ALREADY:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=_exit_words(code) if code else "")

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Run a source plugin or a policy pack and stream what it prints."""
        if request.kind == "analyzer":
            yield from self._run_pack(request, context)
            return
        with _told(context):
            argv = programs.plugin_argv(request)
        env = programs.plugin_env(request, os.environ)
        child = self.children.start(argv, _folder(request.pwd), env, piped=True)
        context.add_callback(lambda: _interrupt(child))
        yield from _stream(child)
        yield language_pb2.RunPluginResponse(exitcode=self.children.wait(child))

    def _run_pack(self, request: Any, context: Any) -> Iterator[Any]:
        with _told(context):
            argv = programs.pack_argv(request)
        started: queue.Queue[subprocess.Popen[bytes] | None] = queue.Queue()

        def start(variables: Mapping[str, str]) -> int:
            env = {**programs.plugin_env(request, os.environ), **variables}
            child = self.children.start(argv, Path(request.info.program_directory), env, piped=True)
            assert child.stdout is not None
            context.add_callback(lambda: _interrupt(child))
            started.put(child)
            return first_port(iter(child.stdout.readline, b""))

        proxy = PolicyProxy(start)
        context.add_callback(lambda: started.put(None))  # a pack that is never configured must not hold this thread
        yield language_pb2.RunPluginResponse(stdout=f"{proxy.port}\n".encode())
        child = started.get()
        try:
            if child is not None:
                yield from _stream(child)
                yield language_pb2.RunPluginResponse(exitcode=self.children.wait(child))
        finally:
            proxy.stop()

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        """Install nothing: ./run setup owns the virtualenv. Say so, or that it is missing."""
        with _told(context):
            python = programs.python_of(request.info)
        yield language_pb2.InstallDependenciesResponse(stdout=f"{python} is kept by ./run setup\n".encode())

    def About(self, request: Any, context: Any) -> Any:
        with _told(context):
            python = programs.python_of(request.info)
            version = programs.ask(python, programs.VERSION)
        return language_pb2.AboutResponse(executable=python, version=version)

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        with _told(context):
            found = programs.ask(programs.python_of(request.info), programs.DISTRIBUTIONS)
        listed = [language_pb2.DependencyInfo(name=name, version=version) for name, version in found]
        return language_pb2.GetProgramDependenciesResponse(dependencies=listed)

    def Cancel(self, request: Any, context: Any) -> Any:
        self.children.interrupt()
        return empty_pb2.Empty()


class _told:
    """Turns NoPython into an answer that the engine shows as it is."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, programs.NoPython):
            self._context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def _folder(name: str) -> Path | None:
    return Path(name) if name else None


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGINT)


def _exit_words(code: int) -> str:
    if code < 0:
        return f"the program was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"the program ended with exit code {code}"


def _stream(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    """Given a child with pipes, yield what it prints as the engine wants it, until both pipes are closed."""
    chunks: queue.Queue[Any] = queue.Queue()

    def pump(pipe: IO[bytes], name: str) -> None:
        for chunk in iter(lambda: pipe.read1(1 << 16), b""):  # type: ignore[attr-defined]  # a BufferedReader
            chunks.put(language_pb2.RunPluginResponse(**{name: chunk}))
        chunks.put(None)

    for pipe, name in ((child.stdout, "stdout"), (child.stderr, "stderr")):
        threading.Thread(target=pump, args=(pipe, name), daemon=True).start()
    open_pipes = 2
    while open_pipes:
        if (chunk := chunks.get()) is None:
            open_pipes -= 1
        else:
            yield chunk


def serve(engine: str, runner: Path) -> int:
    """Given the engine's address and the SDK's program runner, serve until a signal comes or the engine ends."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    server = grpc.server(futures.ThreadPoolExecutor(32), options=LIMITS)
    host = Host(engine, runner)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # The shim says who started it: by now that process may have ended already.
    watch_parent(int(os.environ.get("FEEDLINE_HOST_PARENT") or os.getppid()), ended.set)
    print(port, flush=True)
    ended.wait()
    host.children.end()
    server.stop(1).wait()
    return 0
