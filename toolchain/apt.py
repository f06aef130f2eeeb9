"""Debian packages of the machine itself: only the missing ones, and none of them may start a service."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolchain import commands, files
from toolchain.context import Context, Tool
from toolchain.errors import SetupError
from toolchain.versions import pinned

GUARD = Path("/usr/sbin/policy-rc.d")
GUARD_MARK = "# feedline: no service starts while ./run setup (process {pid}) installs packages; safe to delete"
# 101 is Debian's "action forbidden by policy". It only forbids while that very process lives, so a guard that
# a killed setup leaves behind does nothing.
GUARD_TEXT = "#!/bin/sh\n" + GUARD_MARK + "\nkill -0 {pid} 2>/dev/null && exit 101\nexit 0\n"


def usable() -> bool:
    """Return whether this machine lets us install Debian packages."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def ensure(context: Context) -> Tool:
    """Install the Debian packages that are missing and return what is there. Raise SetupError if that is impossible."""
    wanted: dict[str, str] = pinned()["apt"]
    lacking = missing(list(wanted))
    if lacking:
        if not usable():
            reasons = "\n".join(f"      {name}: {wanted[name]}" for name in lacking)
            raise SetupError(
                f"{len(lacking)} Debian packages are missing and cannot be installed from here:\n{reasons}",
                "the sandbox is made of these programs",
                f"as root: apt-get install --no-install-recommends {' '.join(lacking)}",
            )
        context.say(f"installing Debian packages: {' '.join(lacking)}")
        install(lacking)
    source = f"apt, {len(lacking)} installed now" if lacking else "already here"
    return Tool("debian packages", f"{len(wanted)} packages", source)


def missing(names: Sequence[str]) -> list[str]:
    """Given package names, return those that are not installed."""
    try:
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *names],
            capture_output=True,
            text=True,
            check=False,  # it exits 1 when it does not know one of them
        )
    except FileNotFoundError:
        return list(names)
    installed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("installed ")}
    return [name for name in names if name not in installed]


def install(names: Sequence[str]) -> None:
    """Given package names, install them without starting any service; repair what an interrupted run left."""
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    why = "the sandbox is made of these programs"
    hint = "read apt's own words above; `apt-get update` and a look at /etc/apt/sources.list* often help"
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]
    with _no_service_starts():
        try:
            commands.run([*command, *names], why, hint, env=environment)
        except SetupError:
            # Either the package lists are old or absent, or a killed run left dpkg half way: mend both, then once more.
            commands.run(["dpkg", "--configure", "-a"], why, hint, env=environment)
            commands.run(["apt-get", "update", "--quiet", "-o", "DPkg::Lock::Timeout=300"], why, hint, env=environment)
            commands.run([*command, *names], why, hint, env=environment)


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Forbid service starts by Debian's policy-rc.d while the body runs. An administrator's own policy stays."""
    own = GUARD_MARK.split("(")[0]
    if GUARD.exists() and own not in GUARD.read_text():
        yield
        return
    files.write_atomically(GUARD, GUARD_TEXT.format(pid=os.getpid()), 0o755)
    try:
        yield
    finally:
        GUARD.unlink(missing_ok=True)
