"""A flat Debian repository, built once per content: `deb [trusted=yes] http://packages.feedline.internal/ ./`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

AZCOPY_VERSION = "10.32.2"
BLOBFUSE2_VERSION = "2.5.6"
STANDIN = Path(__file__).resolve().parents[1] / "standins" / "blobfuse2"
STAMP = ".content"


@dataclass(frozen=True)
class Package:
    """One .deb: its control facts and what it installs (path in the node → source file, mode)."""

    name: str
    version: str
    architecture: str
    depends: str
    description: str
    files: tuple[tuple[str, Path, int], ...]


def build(dest: Path, azcopy: Path, blobfuse2: Path | None) -> None:
    """Given a folder, the AzCopy binary and a real BlobFuse2 (or None: the stand-in), make the repository there.

    The same content is not built twice. Raise FileNotFoundError for a binary that is not there, and
    subprocess.CalledProcessError when dpkg-deb fails.
    """
    packages = (_azcopy(azcopy), _real(blobfuse2) if blobfuse2 else _standin())
    content = _digest(packages)
    if (dest / STAMP).exists() and (dest / STAMP).read_text() == content:
        return
    part = dest.with_name(f"{dest.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    index = "\n".join(_deb(package, part) for package in packages)
    (part / "Packages").write_text(index)
    digest = hashlib.sha256(index.encode()).hexdigest()
    (part / "Release").write_text(
        "Origin: Feedline sandbox\nLabel: Feedline sandbox\nSuite: stable\nArchitectures: amd64 all\n"
        f"SHA256:\n {digest} {len(index.encode())} Packages\n"
    )
    (part / STAMP).write_text(content)
    shutil.rmtree(dest, ignore_errors=True)
    part.rename(dest)


def _azcopy(binary: Path) -> Package:
    return Package(
        "azcopy",
        AZCOPY_VERSION,
        "amd64",
        "libsecret-1-0",
        "AzCopy v10, the real binary",
        (("usr/bin/azcopy", binary, 0o755),),
    )


def _real(binary: Path) -> Package:
    return Package(
        "blobfuse2",
        BLOBFUSE2_VERSION,
        "amd64",
        "fuse3, libfuse3-3",
        "BlobFuse2, the real binary",
        (("usr/bin/blobfuse2", binary, 0o755),),
    )


def _standin() -> Package:
    library, package = "usr/lib/feedline-blobfuse2", "sandbox/standins/blobfuse2"
    files = [(f"{library}/{package}/{path.name}", path, 0o644) for path in sorted(STANDIN.glob("*.py"))]
    import mfusepy  # a pure Python binding of libfuse3, taken along as it is

    files.append((f"{library}/mfusepy.py", Path(str(mfusepy.__file__)), 0o644))
    files.append(("usr/bin/blobfuse2", STANDIN / "blobfuse2", 0o755))
    return Package(
        "blobfuse2",
        f"{BLOBFUSE2_VERSION}+standin",
        "all",
        "fuse3, libfuse3-3, python3, python3-yaml",
        "Feedline's stand-in for BlobFuse2, for rehearsals only",
        tuple(files),
    )


def _digest(packages: tuple[Package, ...]) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in packages:
        digest.update(f"{package.name} {package.version} {package.depends}".encode())
        for target, source, mode in package.files:
            digest.update(f"{target} {mode:o}".encode())
            with source.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _deb(package: Package, dest: Path) -> str:
    """Build one .deb into `dest` and return its paragraph of the Packages index."""
    control = (
        f"Package: {package.name}\nVersion: {package.version}\nArchitecture: {package.architecture}\n"
        f"Maintainer: Feedline sandbox <sandbox@feedline.invalid>\nDepends: {package.depends}\n"
        f"Description: {package.description}\n"
    )
    with tempfile.TemporaryDirectory(dir=dest) as folder:
        tree = Path(folder, "tree")
        for target, source, mode in package.files:
            path = tree / target
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
            path.chmod(mode)
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN" / "control").write_text(control)
        name = f"{package.name}_{package.version}_{package.architecture}.deb"
        # zstd at its fastest: these debs live for one rehearsal, unpacking time is what counts
        argv = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", str(tree), str(dest / name)]
        subprocess.run(argv, check=True, capture_output=True)
    with (dest / name).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{control}Filename: ./{name}\nSize: {(dest / name).stat().st_size}\nSHA256: {digest}\n"
