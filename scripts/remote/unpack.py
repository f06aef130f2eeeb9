"""Unpack a bundle from stdin (tar.gz) into FOLDER if it is exactly the one named ID: unpack FOLDER ID.

The folder appears whole or not at all. Older bundles are removed; the last KEPT stay.
"""

import hashlib
import io
import os
import shutil
import sys
import tarfile
from pathlib import Path

KEPT = 3


def unpack(data: bytes, fresh: Path) -> None:
    """Given the archive, unpack it as root's; anything but plain files below the bundle is refused."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            if not member.isfile() or os.path.normpath(member.name).startswith(("/", "..")):
                sys.exit(f"refused: {member.name} is not a plain file below the bundle")
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            archive.extract(member, fresh)


def check(fresh: Path, wanted: str) -> None:
    """Exit unless every file is what the list says, and the list is the one that was named."""
    listing = (fresh / "FILES").read_bytes()
    if hashlib.sha256(listing).hexdigest() != wanted:
        sys.exit("refused: what arrived is not what was sent")
    for line in listing.decode().splitlines():
        digest, _, path = line.partition("  ")
        if hashlib.sha256((fresh / path).read_bytes()).hexdigest() != digest:
            sys.exit(f"refused: {path} is not what was sent")


def main() -> None:
    """Unpack, check, put in place, tidy up."""
    folder, wanted = Path(sys.argv[1]), sys.argv[2]
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = folder.parent / f".new-{os.getpid()}"
    fresh.mkdir(0o755)
    try:
        unpack(sys.stdin.buffer.read(), fresh)
        check(fresh, wanted)
        fresh.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
        os.utime(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    bundles = sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in bundles[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


main()
