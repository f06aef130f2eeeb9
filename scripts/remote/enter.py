"""Check that the bundle FOLDER is exactly the one named ID, made for this Python (TAG), then become its node
program: enter FOLDER ID TAG VERB.

Exit 66 with one JSON line when the bundle has to be sent (absent, damaged, or made for another Python).
"""

import hashlib
import json
import os
import platform
import sys
from pathlib import Path

MISSING = 66


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
    os.execv(sys.executable, [sys.executable, "-I", f"{folder}/node/__main__.py", verb])


main()
