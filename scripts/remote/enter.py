"""Check that the bundle FOLDER is exactly the one named ID, then become its node program: enter FOLDER ID VERB.

Exit 66 with one JSON line when the bundle has to be sent (absent, damaged, or made for another Python).
"""

import hashlib
import json
import os
import platform
import sys

MISSING = 66


def tag():
    return f"{sys.version_info[0]}.{sys.version_info[1]}-{platform.machine()}"


def problem(folder, wanted):
    """Return why the folder is not that bundle, or ""."""
    try:
        owner = os.stat(folder)
        if owner.st_uid != 0 or owner.st_mode & 0o022:
            return "it can be written by others than root"
        with open(os.path.join(folder, "FILES"), "rb") as file:
            listing = file.read()
        if hashlib.sha256(listing).hexdigest() != wanted:
            return "its list of files is another one"
        for line in listing.decode().splitlines():
            digest, _, path = line.partition("  ")
            with open(os.path.join(folder, path), "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != digest:
                    return f"{path} was changed"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def main():
    folder, wanted, verb = sys.argv[1:4]
    why = "it is not there" if wanted == "-" else problem(folder, wanted)
    if why:
        print(json.dumps({"type": "missing", "why": why, "tag": tag()}), flush=True)
        sys.exit(MISSING)
    os.execv(sys.executable, [sys.executable, "-I", os.path.join(folder, "node", "__main__.py"), verb])


main()
