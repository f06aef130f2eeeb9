"""Hold the cluster's lock for as long as the operator is there. One JSON line on stdin: {"who", "why", "since",
"break"}.

The lock is a folder. It goes when stdin ends, or when no byte came for PATIENCE_S: an operator who is
killed, or whose line is cut, holds nothing. A lock whose holder is gone (reboot, kill) is taken over, and said.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

FOLDER = Path("/var/lib/feedline/lock")
PATIENCE_S = 60.0
HELD = 75


def say(kind: str, **more: Any) -> None:
    """Print one JSON line."""
    print(json.dumps(dict(more, type=kind)), flush=True)


def started(pid: int) -> str:
    """Return the kernel's start time of a process in clock ticks since boot, "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def boot() -> str:
    """Return the id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def holder() -> dict[str, Any]:
    """Return what the lock says about its holder; {} when it says nothing (yet)."""
    try:
        return dict(json.loads((FOLDER / "holder.json").read_text()))
    except (OSError, ValueError):
        return {}


def alive(info: dict[str, Any]) -> bool:
    """Whether the process that holds the lock still runs."""
    return info.get("boot") == boot() and bool(info.get("started")) and started(info.get("pid", 0)) == info["started"]


def take(mine: dict[str, Any], by_force: bool) -> None:
    """Make the lock's folder with its holder in it, or exit after saying who holds it."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_name("lock.guard").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # of two that see the same stale lock, or its folder still empty, one wins
        if FOLDER.exists():
            other = holder()
            if alive(other) and not by_force:
                say("held", holder=other)
                sys.exit(HELD)
            shutil.rmtree(FOLDER)
            say("taken", holder=other, alive=alive(other))
        FOLDER.mkdir(0o755)
        (FOLDER / "holder.json").write_text(json.dumps(mine))


def main() -> None:
    """Take the lock, say so, and keep it until stdin ends."""
    wanted = json.loads(sys.stdin.readline() or "{}")
    mine = {key: wanted[key] for key in ("who", "why", "since")}
    mine |= {"pid": os.getpid(), "started": started(os.getpid()), "boot": boot()}

    def release(*_: Any) -> None:
        if holder().get("pid") == os.getpid():
            shutil.rmtree(FOLDER, ignore_errors=True)
        sys.exit(0)

    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, release)
    take(mine, bool(wanted.get("break")))
    try:
        say("locked")
        while select.select([0], [], [], PATIENCE_S)[0] and os.read(0, 4096):
            pass
    finally:
        release()


main()
