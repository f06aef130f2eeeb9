"""Hold the cluster's lock for as long as the operator is there. One JSON line on stdin: {"who", "why", "since", "break"}.

The lock is a folder (mkdir is atomic). It goes when stdin ends, or when no byte came for PATIENCE_S: an operator who is killed,
or whose line is cut, holds nothing. A lock whose holder is gone (node rebooted, process ended) is taken over, and said.
"""

import json
import os
import select
import shutil
import signal
import sys

FOLDER = "/var/lib/feedline/lock"
PATIENCE_S = 60.0
HELD = 75


def say(kind, **more):
    print(json.dumps(dict(more, type=kind)), flush=True)


def started(pid):
    """Return the kernel's start time of a process in clock ticks since boot, "" when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def boot():
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def holder():
    """Return what the lock says about its holder; {} when it is there but says nothing (yet)."""
    try:
        with open(os.path.join(FOLDER, "holder.json")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def alive(info):
    return info.get("boot") == boot() and bool(info.get("started")) and started(info.get("pid", 0)) == info["started"]


def main():
    wanted = json.loads(sys.stdin.buffer.raw.readline() or b"{}")
    mine = {"who": wanted["who"], "why": wanted["why"], "since": wanted["since"],
            "pid": os.getpid(), "started": started(os.getpid()), "boot": boot()}  # fmt: skip
    os.makedirs(os.path.dirname(FOLDER), exist_ok=True)
    while True:
        try:
            os.mkdir(FOLDER, 0o755)
            break
        except FileExistsError:
            other = holder()
            if alive(other) and not wanted.get("break"):
                say("held", holder=other)
                sys.exit(HELD)
            aside = f"{FOLDER}.broken-{os.getpid()}"
            try:
                os.rename(FOLDER, aside)  # of two that see the same stale lock, one wins
            except FileNotFoundError:
                continue
            shutil.rmtree(aside, ignore_errors=True)
            say("taken", holder=other, alive=alive(other))

    def release(*_):
        if holder().get("pid") == mine["pid"]:
            shutil.rmtree(FOLDER, ignore_errors=True)
        sys.exit(0)

    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, release)
    with open(os.path.join(FOLDER, "holder.json"), "w") as file:
        json.dump(mine, file)
    try:
        say("locked")
        while select.select([0], [], [], PATIENCE_S)[0] and os.read(0, 4096):
            pass
    finally:
        release()


main()
