"""AzCopy v10: the argv we give it, and its JSON lines folded into one job. Behaviour seen in 10.32.2
(docs/reference/azcopy.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

DONE = ("Completed", "CompletedWithSkipped")
"""Final states that may be a success; everything else is not."""

ENDED = (*DONE, "CompletedWithErrors", "CompletedWithErrorsAndSkipped", "Failed", "Cancelled")
KEEP_FAILURES = 50
"""Failed transfers named in evidence; AzCopy reports each in exactly one Progress line, so they are collected as they
come."""


@dataclass(frozen=True)
class Job:
    """What one AzCopy run said so far. Bytes are bytes; `ordered` = scanned to the end, before that it cannot be
    resumed."""

    job_id: str = ""
    status: str = ""
    ordered: bool = False
    total: int = 0
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    bytes_over_wire: int = 0
    server_busy_percent: float = 0.0
    failures: tuple[tuple[str, str], ...] = ()
    errors: tuple[str, ...] = ()
    prompt: str = ""
    ended: bool = False

    @property
    def settled(self) -> bool:
        """Whether a final state was reported by the run itself."""
        return self.ended and self.status in ENDED

    @property
    def succeeded(self) -> bool:
        """Whether the run says that every transfer arrived. Exit code 0 alone does not: links, unreadable folders and
        empty sources end with 0 too, so a caller still compares with its own manifest."""
        return self.settled and self.status in DONE and self.failed == 0 and not self.errors


def fold(job: Job, line: str) -> Job:
    """Given a job and one more line of output, return the job as it now stands. Junk lines are skipped, as AzCopy
    prints some."""
    try:
        message = json.loads(line)
        kind, content = message["MessageType"], message["MessageContent"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return job
    if kind == "Error":
        return replace(job, errors=(*job.errors, str(content)[:500]), ended=True)
    if kind == "Prompt":
        return replace(job, prompt=str(content)[:500])
    if kind == "Init":
        return replace(job, job_id=_json(content).get("JobID", ""))
    if kind in ("Progress", "EndOfJob", "GetJobSummary"):
        return _summary(job, _json(content), ended=kind == "EndOfJob")
    return job


def read(lines: Iterable[str]) -> Job:
    """Given all lines of a run's standard output, return the job."""
    job = Job()
    for line in lines:
        job = fold(job, line)
    return job


def version(text: str) -> str:
    """Given what `azcopy --version` printed, return `10.32.2`, or "" if it does not say."""
    found = re.search(r"azcopy version (\S+)", text)
    return found.group(1) if found else ""


def copy_argv(binary: str, source: str, destination: str, *, overwrite: str, cap_mbps: float = 0.0) -> tuple[str, ...]:
    """Given a local folder and the URL of a prefix, return the argv that uploads the folder's content below that
    prefix.

    `overwrite` is AzCopy's (`true`, `ifSourceNewer`); `cap_mbps` is in 10^6 bits/s, 0 = uncapped. MD5s are stored
    with the blobs (--put-md5), because upload itself verifies nothing.
    """
    cap = (f"--cap-mbps={cap_mbps:g}",) if cap_mbps else ()
    return (
        binary,
        "copy",
        source,
        destination,
        "--from-to=LocalBlob",
        "--recursive",
        "--as-subdir=false",
        "--put-md5",
        "--blob-type=BlockBlob",
        f"--overwrite={overwrite}",
        "--log-level=WARNING",
        "--output-type=json",
        "--cancel-from-stdin",
        *cap,
    )


def resume_argv(binary: str, job_id: str, *, cap_mbps: float = 0.0) -> tuple[str, ...]:
    """Given a job's id, return the argv that resumes it. Never for a completed job: AzCopy 10.32 would hang."""
    cap = (f"--cap-mbps={cap_mbps:g}",) if cap_mbps else ()
    return (binary, "jobs", "resume", job_id, "--output-type=json", "--cancel-from-stdin", *cap)


def environment(client_id: str, folder: str) -> dict[str, str]:
    """Given the identity's client id and a folder for this data set's plans and logs, return AzCopy's variables.

    Auto-login asks the metadata service for each process: a login kept in the session keyring is not seen over SSH.
    """
    return {
        "AZCOPY_AUTO_LOGIN_TYPE": "MSI",
        "AZCOPY_MSI_CLIENT_ID": client_id,
        "AZCOPY_LOG_LOCATION": f"{folder}/log",
        "AZCOPY_JOB_PLAN_LOCATION": f"{folder}/plan",
        "AZCOPY_DISABLE_SYSLOG": "true",
        "NO_PROXY": "169.254.169.254,.core.windows.net",
        "HOME": "/root",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }


_COUNTS = (
    "TotalTransfers",
    "TransfersCompleted",
    "TransfersFailed",
    "TransfersSkipped",
    "TotalBytesTransferred",
    "TotalBytesEnumerated",
    "BytesOverWire",
)
"""Numbers of a summary that arrive as JSON strings."""


def _json(content: str) -> Mapping[str, Any]:
    try:
        value = json.loads(content)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _summary(job: Job, raw: Mapping[str, Any], *, ended: bool) -> Job:
    if not raw.get("JobStatus"):
        return replace(job, ended=job.ended or ended)
    failures = tuple((str(item["Dst"]), str(item["ErrorCode"])) for item in raw.get("FailedTransfers") or ())
    count = {name: int(raw.get(name) or 0) for name in _COUNTS}
    return replace(
        job,
        job_id=raw.get("JobID", job.job_id),
        status=raw["JobStatus"],
        ended=job.ended or ended,
        # `jobs show` reports false even for finished jobs, so what was once true stays true.
        ordered=job.ordered or bool(raw.get("CompleteJobOrdered")),
        total=count["TotalTransfers"],
        completed=count["TransfersCompleted"],
        failed=count["TransfersFailed"],
        skipped=count["TransfersSkipped"],
        bytes_done=count["TotalBytesTransferred"],
        bytes_total=count["TotalBytesEnumerated"],
        bytes_over_wire=count["BytesOverWire"],
        server_busy_percent=float(raw.get("ServerBusyPercentage") or 0),
        failures=tuple(dict.fromkeys((*job.failures, *failures)))[:KEEP_FAILURES],
    )
