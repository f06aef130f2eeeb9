"""A preview of our program by the real Pulumi engine, beside one of an empty program: wall time and memory of all the
processes together (engine, language host, program, provider, policy pack)."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.row import machine
from toolchain.env import sandbox_env

CHECKOUT = Path(__file__).resolve().parents[1]
RUNS = 3
NODES = (1, 32, 200)
LOOK_S = 0.1
PATIENCE_S = 600
"""A preview that takes longer is not waited for."""

EMPTY = f"name: empty\nruntime:\n  name: python\n  options: {{toolchain: pip, virtualenv: {CHECKOUT / '.venv'}}}\n"
KEY = {"ssh_public_key": "ssh-ed25519 AAAA bench", "ssh_public_key_file": ""}
KINDS = (("sandbox.provider", "provider"), ("policies", "pack"), ("policy", "pack"), ("pulumi-language", "program"))


@dataclass
class Found:
    """One row: seconds, processor seconds (of all processes; a busy machine changes them little) and bytes of each run,
    and what each kind of process held when all held most."""

    name: str
    seconds: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """What is previewed: from which folder, of which stack, by which configuration."""

    name: str
    folder: Path
    argv: tuple[str, ...]


def run() -> None:
    """Preview the empty program and ours with 1, 32 and 200 nodes, with and without the pack; print the table."""
    with engine() as (folder, environment):
        programs = [_empty(folder, environment), *_ours(folder, environment)]
        rows = {program.name: Found(program.name) for program in programs}
        for _ in range(RUNS):
            for program in programs:
                _preview(program, environment, rows[program.name])
    _report(list(rows.values()))


@contextlib.contextmanager
def engine() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a folder and the environment of a `pulumi` with a state of its own and an empty simulated cloud. The path
    is short: that of a unix socket may have 108 characters."""
    folder = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))
    socket = folder / "arm.sock"
    argv = [sys.executable, "-m", "sandbox.arm", "--socket", str(socket), "--state", str(folder / "cloud.json")]
    arm = subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            if time.monotonic() > deadline or arm.poll() is not None:
                raise RuntimeError("the control plane did not come up")
            time.sleep(0.05)
        (folder / "state").mkdir()
        ours = {
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "FEEDLINE_ARM_SOCKET": str(socket),
            "FEEDLINE_SSH_PROXY_COMMAND": "true %h %p",
        }
        yield folder, {**os.environ, **sandbox_env(CHECKOUT), **ours}
    finally:
        arm.terminate()
        arm.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _empty(folder: Path, environment: dict[str, str]) -> Program:
    project = folder / "empty"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(EMPTY)
    (project / "__main__.py").write_text("")
    _pulumi(["stack", "init", "empty"], project, environment)
    return Program("an empty program", project, ("--stack", "empty"))


def _ours(folder: Path, environment: dict[str, str]) -> Iterator[Program]:
    _pulumi(["stack", "init", "sandbox"], CHECKOUT, environment)
    for count in NODES:
        settings = yaml.safe_load((CHECKOUT / "Pulumi.sandbox.yaml").read_text())
        nodes = settings["config"]["feedline:nodes"] | {"count": count, "placement": "availability_set", **KEY}
        settings["config"]["feedline:nodes"] = nodes
        file = folder / f"Pulumi.{count}.yaml"
        file.write_text(yaml.safe_dump(settings))
        argv = ("--stack", "sandbox", "--config-file", str(file))
        yield Program(f"ours, {count} nodes", CHECKOUT, argv)
        yield Program(f"ours, {count} nodes, with the pack", CHECKOUT, (*argv, "--policy-pack", "policies"))


def _pulumi(argv: list[str], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(["pulumi", *argv, "--non-interactive"], cwd=folder, env=environment, check=True, capture_output=True)


def _preview(program: Program, environment: dict[str, str], found: Found) -> None:
    """Measure one preview. Memory is looked at ten times a second; what two processes share is counted twice."""
    argv = ["pulumi", "preview", *program.argv, "--non-interactive", "--color", "never"]
    with tempfile.TemporaryFile("w+") as said:
        started, worked = time.perf_counter(), _worked()
        child = subprocess.Popen(
            argv, cwd=program.folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        most: dict[str, int] = {}
        while child.poll() is None:
            held = _held(child.pid)
            most = max(most, held, key=lambda parts: sum(parts.values()))
            if time.perf_counter() - started > PATIENCE_S:
                child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_S)
        took = time.perf_counter() - started
        said.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(argv)} ended with {child.returncode}:\n{said.read()[-2000:]}")
    if sum(most.values()) > max(found.bytes, default=0):
        found.parts = most
    found.seconds.append(took)
    found.worked.append(_worked() - worked)
    found.bytes.append(sum(most.values()))


def _worked() -> float:
    """Processor seconds of every process below this one that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _held(root: int) -> dict[str, int]:
    """Given a process, return the resident bytes of it and all below it, by kind of process."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    family = {root}
    for pid in sorted(parents):  # a child's number is nearly always the larger; a second look takes the others
        if parents[pid] in family:
            family.add(pid)
    family |= {pid for pid, parent in parents.items() if parent in family}
    page, held = os.sysconf("SC_PAGE_SIZE"), dict[str, int]()
    for pid in family:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
            kind = "engine" if pid == root else next((k for sign, k in KINDS if sign in words), "program")
            held[kind] = held.get(kind, 0) + int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
    return held


def _report(rows: list[Found]) -> None:
    """Print the table with ratios to the empty program, as a page shows it, and the same as one line of JSON."""
    base = statistics.median(rows[0].seconds)
    print(f"\n`pulumi preview` (median of {RUNS}; ratio to an empty program)\n")
    print("| program | seconds | ratio | spread | CPU seconds | ratio | MB at most | of them |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for row in rows:
        median = statistics.median(row.seconds)
        spread = (max(row.seconds) - min(row.seconds)) / median
        parts = ", ".join(f"{kind} {size / 1e6:.0f}" for kind, size in sorted(row.parts.items()))
        cpu, cpu_base = statistics.median(row.worked), statistics.median(rows[0].worked)
        memory = statistics.median(row.bytes) / 1e6
        wall, work = f"{median:.1f} | x{median / base:.2f} | {spread:.0%}", f"{cpu:.1f} | x{cpu / cpu_base:.2f}"
        print(f"| {row.name} | {wall} | {work} | {memory:.0f} | {parts} |")
    ratios = {row.name: round(statistics.median(row.seconds) / base, 3) for row in rows}
    print(json.dumps({"row": "preview", "machine": machine(), "ratios": ratios}))
