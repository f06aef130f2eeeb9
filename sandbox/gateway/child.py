"""One supervised program: its output goes to a log without signatures, and it is started again when it dies unasked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

_LOG = logging.getLogger("sandbox.child")
_SIGNATURE = re.compile(rb"(?i)\bsig=[^&\s\"']+")
_PAUSE_S = (0.2, 10.0)  # first and longest pause before a restart


class Child:
    """Runs `argv` in its own process group until `stop`; `on_exit` is called each time it ends unasked."""

    def __init__(
        self,
        name: str,
        argv: list[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        on_exit: Callable[[], None] | None = None,
    ) -> None:
        self.name, self._argv, self._log, self._env = name, argv, log, env
        self._on_exit = on_exit or (lambda: None)
        self._process: subprocess.Popen[bytes] | None = None
        self._exited: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """Return the process id while it runs, else None."""
        alive = self._process is not None and self._exited is not None and not self._exited.done()
        return self._process.pid if self._process is not None and alive else None

    @property
    def supervised(self) -> bool:
        """Say whether the program is watched: it runs, or will be started again in a moment."""
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Start the program and watch it. Raise RuntimeError if it cannot be executed."""
        self._stopping = False
        self._spawn()
        self._task = asyncio.create_task(self._watch(), name=f"child:{self.name}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program itself, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, number)

    async def stop(self, grace_s: float = 5.0) -> None:
        """End the program and its process group: SIGTERM, after `grace_s` seconds SIGKILL. Quiet if it does not run."""
        self._stopping = True
        if self._exited is not None and not self._exited.done():
            self.signal(signal.SIGTERM)
            await asyncio.wait({self._exited}, timeout=grace_s)
            self._kill_group()  # before the program is reaped: until then its group's number is nobody else's
            await asyncio.wait({self._exited})
        if self._process is not None:
            self._process.wait()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _watch(self) -> None:
        """Wait for the end, again and again, with growing pauses while the program keeps dying young."""
        pause, longest = _PAUSE_S[0] / 2, _PAUSE_S[1]
        loop = asyncio.get_running_loop()
        while True:
            assert self._exited is not None and self._process is not None
            born = loop.time()
            await asyncio.wait({self._exited})
            if self._stopping:
                return
            # A killed master (nginx) leaves workers that hold the port: they share its process group.
            self._kill_group()
            code = self._process.wait()
            self._on_exit()
            pause = _PAUSE_S[0] if loop.time() - born > longest else min(pause * 2, longest)
            _LOG.warning("%s: ended with %d, started again in %.1f s (see %s)", self.name, code, pause, self._log)
            await asyncio.sleep(pause)
            self._spawn()

    def _spawn(self) -> None:
        """Start the process, the thread that copies its output, and the watch for its end."""
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=None if self._env is None else dict(self._env),
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimeError(f"{self.name}: cannot run {self._argv[0]}: {error.strerror}") from error
        assert self._process.stdout is not None
        threading.Thread(target=_copy, args=(self._process.stdout, self._log), name=self.name, daemon=True).start()
        self._exited = _exit_of(self._process.pid)
        _LOG.info("%s: started, pid %d", self.name, self._process.pid)

    def _kill_group(self) -> None:
        """Kill what is left of the program's process group; call it only before the program is reaped."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _copy(output: IO[bytes], log: Path) -> None:
    """Append a program's output to its log, signatures removed, until the last process that writes it has ended."""
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with output, os.fdopen(descriptor, "wb", buffering=0) as file:
        for line in output:
            file.write(_SIGNATURE.sub(b"sig=REDACTED", line))


def _exit_of(pid: int) -> asyncio.Future[None]:
    """Given a running child's pid, return a future that is done when it has ended (whoever else holds its output)."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    descriptor = os.pidfd_open(pid)

    def done() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(descriptor, done)
    return ended
