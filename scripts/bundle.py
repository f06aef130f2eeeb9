"""What is sent to a node: our decisions, the node program and the Azure SDK for that node's Python, named by its
content.

The SDK comes from uv.lock's versions and hashes, by uv, once per Python and architecture. The same checkout makes
the same bundle, byte for byte, on any machine.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedline.errors import OperationError
from feedline.names import BUNDLE_FOLDER
from scripts.places import Places, write

OWN = ("feedline", "node")
SDK = ("azure-identity", "azure-storage-blob")
PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "aarch64": "aarch64-manylinux_2_28"}
_TAG = re.compile(r"(3\.\d+)-(x86_64|aarch64)")
# What an installer leaves behind about itself; it differs from run to run and nothing imports it.
_LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|bin|\.lock)(/|$)|\.dist-info/(RECORD|INSTALLER|REQUESTED|uv_cache\.json|direct_url\.json)$|\.pyc$"
)


@dataclass(frozen=True)
class Bundle:
    """A bundle: `id` = SHA-256 over its list of files, `tag` = the Python it is for, `files` = path in it → file
    here, `listing` = that list."""

    id: str
    tag: str
    listing: str
    files: Mapping[str, Path]

    @property
    def folder(self) -> str:
        """Where it lies on a node."""
        return f"{BUNDLE_FOLDER}/{self.id[:16]}"

    def archive(self) -> bytes:
        """Return it as tar.gz; the same files give the same bytes."""
        raw = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, compresslevel=6) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            _add(tar, "FILES", self.listing.encode())
            for path, source in sorted(self.files.items()):
                _add(tar, path, source.read_bytes())
        return raw.getvalue()


def build(places: Places, tag: str, say: Callable[[str], None]) -> Bundle:
    """Given a node's Python as `3.12-x86_64`, return the bundle for it. Raise OperationError if the SDK cannot be
    had."""
    site = _site(places, tag, say)
    files = {
        f"{room}/{path.relative_to(places.checkout / room)}": path
        for room in OWN
        for path in _walk(places.checkout / room)
    }
    files |= {f"site/{path.relative_to(site)}": path for path in _walk(site)}
    hashed = _hashes_of(site)
    lines = []
    for name, path in sorted(files.items()):
        digest = (
            hashed[name.removeprefix("site/")]
            if name.startswith("site/")
            else hashlib.sha256(path.read_bytes()).hexdigest()
        )
        lines.append(f"{digest}  {name}\n")
    listing = "".join(lines)
    return Bundle(hashlib.sha256(listing.encode()).hexdigest(), tag, listing, files)


def requirements(lock: Mapping[str, Any]) -> str:
    """Given uv.lock's values, return the SDK and all it needs as pip requirements with versions, markers and hashes."""
    packages = {package["name"]: package for package in lock["package"]}
    lines: dict[str, str] = {}
    queue = [(name, "") for name in SDK]
    while queue:
        name, marker = queue.pop()
        package = packages[name]
        if name in lines and not marker:
            continue
        hashes = sorted({wheel["hash"] for wheel in package.get("wheels", ())})
        lines[name] = f"{name}=={package['version']}{f' ; {marker}' if marker else ''}" + "".join(
            f" \\\n    --hash={h}" for h in hashes
        )
        queue += [(d["name"], d.get("marker", "")) for d in package.get("dependencies", ()) if d["name"] not in lines]
    return "\n".join(lines[name] for name in sorted(lines)) + "\n"


def _site(places: Places, tag: str, say: Callable[[str], None]) -> Path:
    """Return the folder with the SDK for that Python, made once; its name is the hash of what it was asked for."""
    matched = _TAG.fullmatch(tag)
    if not matched:
        raise OperationError(f"a node runs Python {tag}", hint="nodes need Python 3.11 or later on x86_64 or aarch64")
    wanted = requirements(tomllib.loads((places.checkout / "uv.lock").read_text()))
    name = f"site-{tag}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    folder = places.bundles / name
    if not (folder.is_dir() and _listing(folder).exists()):
        say(f"making the Azure SDK for Python {tag} (once)")
        places.bundles.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=places.bundles, prefix=".new-") as fresh:
            _install(places, wanted, matched[1], PLATFORMS[matched[2]], Path(fresh))
            listed = [
                f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(Path(fresh, 'site'))}\n"
                for p in _walk(Path(fresh, "site"))
            ]
            shutil.rmtree(folder, ignore_errors=True)
            Path(fresh, "site").rename(folder)
            write(_listing(folder), "".join(listed))
    return folder


def _install(places: Places, wanted: str, python: str, platform: str, fresh: Path) -> None:
    from toolchain.context import Context
    from toolchain.errors import SetupError
    from toolchain.python_deps import uv_program

    (fresh / "requirements.txt").write_text(wanted)
    try:
        uv = uv_program(Context.of(places.checkout))
    except SetupError as error:
        raise OperationError(str(error), hint="run ./run setup") from error
    argv = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--target",
        fresh / "site",
        "--python-version",
        python,
        "--python-platform",
        platform,
        "--only-binary",
        ":all:",
        "--no-deps",
        "--require-hashes",
        "--requirements",
        fresh / "requirements.txt",
    ]
    done = subprocess.run(
        [str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=fresh
    )
    if done.returncode:
        raise OperationError(
            f"uv cannot install the Azure SDK for Python {python} on {platform}:\n    {done.stderr.strip()}",
            hint="check that the package index can be reached; nodes need Python 3.11 or later",
        )


def _listing(site: Path) -> Path:
    return site.with_name(f"{site.name}.files")


def _hashes_of(site: Path) -> dict[str, str]:
    pairs = (line.partition("  ") for line in _listing(site).read_text().splitlines())
    return {path: digest for digest, _, path in pairs}


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not _LEFT_OUT.search(str(path.relative_to(folder))):
            yield path


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    tar.addfile(entry, io.BytesIO(data))
