"""Unpack a bundle from stdin (tar.gz) into FOLDER if it is exactly the one named ID: unpack FOLDER ID.

The folder appears whole or not at all. Older bundles are removed; the last KEPT stay.
"""

import hashlib
import io
import os
import shutil
import sys
import tarfile

KEPT = 3


def main():
    folder, wanted = sys.argv[1:3]
    parent = os.path.dirname(folder)
    fresh = os.path.join(parent, f".new-{os.getpid()}")
    os.makedirs(parent, mode=0o755, exist_ok=True)
    os.mkdir(fresh, 0o755)
    try:
        archive = tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), mode="r:gz")
        for member in archive:
            inside = os.path.normpath(member.name)
            if not (member.isfile() or member.isdir()) or inside.startswith(("/", "..")):
                sys.exit(f"refused: {member.name} is neither a plain file nor a folder below the bundle")
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            archive.extract(member, fresh)
        with open(os.path.join(fresh, "FILES"), "rb") as file:
            listing = file.read()
        if hashlib.sha256(listing).hexdigest() != wanted:
            sys.exit("refused: what arrived is not what was sent")
        for line in listing.decode().splitlines():
            digest, _, path = line.partition("  ")
            with open(os.path.join(fresh, path), "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != digest:
                    sys.exit(f"refused: {path} is not what was sent")
        os.chmod(fresh, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(fresh, folder)
        os.utime(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    others = sorted((os.path.join(parent, name) for name in os.listdir(parent)), key=os.path.getmtime, reverse=True)
    for old in others[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


main()
