"""Child processes that never outlive the host, and a host that never outlives the engine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LOOK_EVERY_S = 0.2
GRACE_S = 5.0


class Children:
    """The programs, plugins and policy packs that this host has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def start(
        self,
        argv: Sequence[str | Path],
        cwd: Path | None,
        env: Mapping[str, str],
        *,
        piped: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Given a command, start it so that the kernel kills it when this host dies, even by SIGKILL.

        With `piped` its stdout and stderr are ours to read, else they are the host's own, which the engine shows.
        """
        pipe = subprocess.PIPE if piped else None
        # setpriv instead of preexec_fn: that would fork this process with gRPC's threads in it.
        words = [*_leash(), *map(str, argv)]
        child = subprocess.Popen(words, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        with self._lock:
            self._running.add(child)
        return child

    def wait(self, child: subprocess.Popen[bytes]) -> int:
        """Given one of our children, wait for its end and return its exit code."""
        code = child.wait()
        with self._lock:
            self._running.discard(child)
        return code

    def interrupt(self) -> None:
        """Ask every child to end, as Ctrl-C would."""
        with self._lock:
            for child in self._running:
                child.send_signal(signal.SIGINT)

    def end(self, grace_s: float = GRACE_S) -> None:
        """Ask every child to end, and kill those that have not within `grace_s` seconds."""
        self.interrupt()
        with self._lock:
            left = list(self._running)
        for child in left:
            try:
                child.wait(grace_s)
            except subprocess.TimeoutExpired:
                child.kill()


def _leash() -> list[str]:
    """Return the prefix that ties a command's life to ours (util-linux; without it, `watch_parent` must do)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def watch_parent(parent: int, gone: Callable[[], None]) -> threading.Thread:
    """Given the process that started us, call `gone` once, from a thread, when it has ended.

    We ask every LOOK_EVERY_S seconds, because PR_SET_PDEATHSIG fires when the parent's *thread* ends, and the engine is
    a Go program that starts us from any of its threads.
    """

    def look() -> None:
        pause = threading.Event()
        while os.getppid() == parent:
            pause.wait(LOOK_EVERY_S)
        gone()

    thread = threading.Thread(target=look, name="watch-engine", daemon=True)
    thread.start()
    return thread
