"""One supervised program: its output goes to a log without signatures, and it is started again when it dies unasked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

_LOG = logging.getLogger("sandbox.child")
_SIGNATURE = re.compile(rb"(?i)\bsig=[^&\s\"']+")
_PAUSE_S = (0.2, 10.0)  # first and longest pause before a restart
_LINE_LIMIT = 1 << 20


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
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """Return the process id while it runs, else None."""
        return self._process.pid if self._process and self._process.returncode is None else None

    @property
    def supervised(self) -> bool:
        """Say whether the program is watched: it runs, or will be started again in a moment."""
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Start the program and watch it. Raise RuntimeError if it cannot be executed."""
        self._stopping = False
        process = await self._spawn()
        self._task = asyncio.create_task(self._watch(process), name=f"child:{self.name}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program itself, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, number)

    async def stop(self, grace_s: float = 5.0) -> None:
        """End the program: SIGTERM, after `grace_s` seconds SIGKILL, to the whole process group. Ends quietly if it
        does not run.
        """
        self._stopping = True
        if self._process is not None and self._process.returncode is None:
            self.signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), grace_s)
        self._kill_group()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _spawn(self) -> asyncio.subprocess.Process:
        """Start the process and the task that copies its output."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=None if self._env is None else dict(self._env),
                start_new_session=True,
                limit=_LINE_LIMIT,
            )
        except OSError as error:
            raise RuntimeError(f"{self.name}: cannot run {self._argv[0]}: {error.strerror}") from error
        _LOG.info("%s: started, pid %d", self.name, self._process.pid)
        return self._process

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Copy output and wait for the end, again and again, with growing pauses while it keeps dying young."""
        pause, longest = _PAUSE_S
        loop = asyncio.get_running_loop()
        while True:
            born = loop.time()
            await self._copy_output(process)
            code = await process.wait()
            if self._stopping:
                return
            # A killed master (nginx) leaves workers that hold the port: they share its process group.
            self._kill_group()
            self._on_exit()
            pause = _PAUSE_S[0] if loop.time() - born > longest else min(pause * 2, longest)
            _LOG.warning("%s: ended with %d, started again in %.1f s (see %s)", self.name, code, pause, self._log)
            await asyncio.sleep(pause)
            process = await self._spawn()

    async def _copy_output(self, process: asyncio.subprocess.Process) -> None:
        """Append the program's output to its log, signatures removed, until it closes its end."""
        assert process.stdout is not None
        self._log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as log:
            ended = asyncio.ensure_future(process.wait())
            while not ended.done() or not process.stdout.at_eof():
                line = asyncio.ensure_future(process.stdout.readline())
                done, _ = await asyncio.wait({line, ended}, return_when=asyncio.FIRST_COMPLETED)
                if line not in done:  # the program is gone but a child of it still holds the pipe
                    line.cancel()
                    break
                log.write(_SIGNATURE.sub(b"sig=REDACTED", line.result()))
                if not line.result():
                    break
            await ended

    def _kill_group(self) -> None:
        """Kill what is left of the program's process group."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
