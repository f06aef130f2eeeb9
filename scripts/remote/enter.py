"""Check that the bundle FOLDER is exactly the one named ID, made for this Python (TAG), then become its node
program: enter FOLDER ID TAG VERB.

Exit 66 with one JSON line when the bundle has to be sent (absent, damaged, or made for another Python).
"""

import fcntl
import hashlib
import json
import os
import platform
import sys
import time
from pathlib import Path

MISSING = 66
ALONE = ("ingest", "nvme", "cache", "validate")
"""Verbs that change or measure the node: never two at once, whatever became of the operator of the first."""

LOCK = "/run/feedline-node.lock"
PATIENCE_S = 120.0


def tag() -> str:
    """Return this Python as bundles are named: `3.12-x86_64`."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}-{platform.machine()}"


def problem(folder: Path, wanted: str) -> str:
    """Return why the folder is not that bundle, or ""."""
    try:
        facts = folder.stat()
        if facts.st_uid != 0 or facts.st_mode & 0o022:
            return "it can be written by others than root"
        listing = (folder / "FILES").read_bytes()
        if hashlib.sha256(listing).hexdigest() != wanted:
            return "its list of files is another one"
        for line in listing.decode().splitlines():
            digest, _, path = line.partition("  ")
            if hashlib.sha256((folder / path).read_bytes()).hexdigest() != digest:
                return f"{path} was changed"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def be_alone(verb: str) -> None:
    """Wait until no other such verb runs here, then hold the lock for as long as this process lives. Exit 1 with an
    error line when it takes too long."""
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(lock, True)  # through execv; the programs that the node program starts do not get it
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.truncate(lock, 0)
            os.write(lock, f"{verb} (process {os.getpid()})".encode())
            return
        except BlockingIOError:
            other = os.pread(lock, 200, 0).decode(errors="replace") or "another one"
            if time.monotonic() > deadline:
                what = f"{other} of an earlier run is still at work here"
                hint = "it ends with its present step; look at it with `ps`, or wait and run this again"
                print(json.dumps({"type": "error", "what": what, "where": "", "hint": hint}), flush=True)
                sys.exit(1)
            print(json.dumps({"type": "progress", "text": f"waiting for {other} of an earlier run"}), flush=True)
            time.sleep(0.5)


def main() -> None:
    """Enter the bundle, or say what is missing."""
    folder, wanted, made_for, verb = sys.argv[1:5]
    if made_for != tag():
        why = f"it is for Python {made_for}"
    else:
        why = problem(Path(folder), wanted)
    if why:
        print(json.dumps({"type": "missing", "why": why, "tag": tag()}), flush=True)
        sys.exit(MISSING)
    if verb in ALONE:
        be_alone(verb)
    os.execv(sys.executable, [sys.executable, "-I", f"{folder}/node/__main__.py", verb])


main()
