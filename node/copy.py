"""Runs AzCopy so that it outlives the SSH session, and watches it from its own output.

AzCopy dies at once on SIGHUP and spins a core when its stdin is at EOF (10.32.2), so it gets its own session and a
FIFO held open for reading and writing; that FIFO is also its control channel.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from feedline.errors import OperationError
from feedline.tools.azcopy import Job, environment, fold, read

POLL_S = 0.5
STALL_S = 300.0
"""No new byte for this long ends the watch: an unreachable endpoint keeps AzCopy `InProgress` for 16 minutes."""


class Copy:
    """The one upload of a data set: its folder holds AzCopy's plans, log, output and the record of its process."""

    def __init__(self, folder: Path, client_id: str) -> None:
        self.folder, self._client_id = folder, client_id
        self._output, self._errors = folder / "stdout.jsonl", folder / "stderr.txt"
        self._record, self._fifo = folder / "process.json", folder / "control.fifo"

    def previous(self) -> Job | None:
        """Return what the last run said, or None when there was none."""
        if not self._output.exists():
            return None
        with self._output.open(encoding="utf-8", errors="replace") as lines:
            return read(lines)

    def running(self) -> bool:
        """Whether the recorded process is still that very process (pid and start time)."""
        try:
            record = json.loads(self._record.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return False
        return _start_time(record["pid"]) == record["started"]

    def start(self, argv: Sequence[str]) -> None:
        """Start AzCopy with this argv, detached from the session."""
        for folder in (self.folder, self.folder / "log", self.folder / "plan"):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        self._fifo.unlink(missing_ok=True)
        os.mkfifo(self._fifo, 0o600)
        stdin = os.open(self._fifo, os.O_RDWR)
        try:
            with self._output.open("wb") as out, self._errors.open("wb") as err:
                process = subprocess.Popen(
                    list(argv),
                    stdin=stdin,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    env=environment(self._client_id, str(self.folder)),
                    cwd="/",
                )
        except FileNotFoundError as error:
            raise OperationError(
                f"{argv[0]} is not installed on this node", hint="cloud-init installs it; see `fab doctor`"
            ) from error
        finally:
            os.close(stdin)
        self._record.write_text(json.dumps({"pid": process.pid, "started": _start_time(process.pid)}))

    def watch(self, progress: Callable[..., None]) -> Job:
        """Follow the run to its end and return the job. Raise OperationError when it stalls, fails or dies."""
        job, moved_at, seen = Job(), time.monotonic(), -1
        with self._output.open(encoding="utf-8", errors="replace") as lines:
            pending = ""
            while True:
                alive = self.running()
                while chunk := lines.readline():
                    pending += chunk
                    if pending.endswith("\n"):
                        job, pending = fold(job, pending), ""
                if job.bytes_over_wire + job.completed != seen:
                    seen, moved_at = job.bytes_over_wire + job.completed, time.monotonic()
                progress(
                    f"uploading {job.completed} of {job.total} files",
                    done=job.bytes_done,
                    total=job.bytes_total,
                    unit="B",
                )
                if not alive:
                    return self._ended(job)
                if time.monotonic() - moved_at > STALL_S:
                    self._cancel()
                    raise OperationError(
                        f"AzCopy moved no byte for {STALL_S:.0f} s and was stopped",
                        where=str(self._output),
                        hint="check the endpoint with `fab doctor`, then run `fab ingest` again: it resumes",
                    )
                time.sleep(POLL_S)

    def _ended(self, job: Job) -> Job:
        if job.succeeded:
            return job
        said = [*job.errors, *(f"{where}: {code}" for where, code in job.failures[:5])]
        tail = self._errors.read_text(errors="replace").strip().splitlines()[-3:] if self._errors.exists() else []
        result = job.status or "without a result"
        state = f"AzCopy ended {result}: {job.completed} of {job.total} files, {job.failed} failed"
        denied = any(code in ("403",) for _, code in job.failures)
        raise OperationError(
            "\n  ".join([state, *said, *tail]),
            where=str(self._output),
            hint="the identity was refused: run `fab access`"
            if denied
            else "run `fab ingest` again: it resumes what can be resumed",
        )

    def _cancel(self) -> None:
        with self._fifo.open("r+") as control:
            control.write("cancel\n")


def _start_time(pid: int) -> str:
    """Given a pid, return the kernel's start time of it (field 22 of /proc/PID/stat, ticks since boot), "" when it is
    gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = text.rsplit(")", 1)[1].split()
    return "" if fields[0] == "Z" else fields[19]
