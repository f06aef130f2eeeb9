"""Stages with their time, and the programs they run: each with its own log, whose end is shown when it fails."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from feedline.errors import OperationError
from scripts.log import masked
from scripts.places import Places
from scripts.screen import Screen

TAIL = 20
WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Programs die with the rehearsal: a `pulumi up` that outlives a killed one would write into the next one's cloud."""


class Stages:
    """What was done and how long it took. `home` is the folder that the sandbox belongs to."""

    def __init__(self, places: Places, home: Path, screen: Screen) -> None:
        self.checkout, self._home, self._logs, self._screen = places.checkout, home, places.logs, screen
        self._stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.times: list[tuple[str, float]] = []

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Given what is done, say so, and how long it took."""
        self._screen.say(f"── {title}", "bold")
        began = time.monotonic()
        try:
            yield
        finally:
            self.times.append((title, time.monotonic() - began))
            self._screen.say(f"   {self.times[-1][1]:.1f} s")

    def run(self, name: str, argv: Sequence[str], *, good: Sequence[int] = (0,), hint: str = "") -> tuple[int, str]:
        """Given a name for the log and an argv, run it in the checkout; return its exit code and all it said.

        Raise OperationError with its last lines if it ends with another code than the `good` ones (none = any).
        """
        log = self._logs / f"rehearsal-{self._stamp}" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            done = subprocess.run(
                [*WITH_US, *argv],
                cwd=self.checkout,
                env=os.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        said = masked(log.read_text(errors="replace"))
        if good and done.returncode not in good:
            lines = "\n".join(f"    {line}" for line in said.splitlines()[-TAIL:])
            raise OperationError(
                f"{' '.join(argv[:4])} … ended with exit code {done.returncode}:\n{lines}", where=str(log), hint=hint
            )
        return done.returncode, said

    def sandbox(self, name: str, *arguments: str, hint: str = "") -> str:
        """Given a name for the log and a command of the sandbox, run it and return what it said."""
        argv = [sys.executable, "-m", "sandbox", f"--checkout={self._home}", *arguments]
        return self.run(name, argv, hint=hint)[1]

    @contextmanager
    def alone(self, lock: Path) -> Iterator[None]:
        """Given a lock file, wait until no other rehearsal of this checkout runs, and keep others waiting meanwhile."""
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                self._screen.say(f"waiting for the rehearsal that is running already (process {file.read().strip()})")
                fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def show(self) -> None:
        """Print the time of each stage."""
        self._screen.say("TIME OF EACH STAGE", "bold")
        for title, seconds in self.times:
            self._screen.say(f"  {seconds:7.1f} s  {title}")
        self._screen.say(f"  {sum(seconds for _, seconds in self.times):7.1f} s  in all")
