"""The Pulumi CLI: the right one on PATH, else the official installer, else built from its Go module."""

from __future__ import annotations

import shutil
import time
import urllib.request
from pathlib import Path

from toolchain import commands, files, golang
from toolchain.context import Context, Tool
from toolchain.errors import SetupError
from toolchain.versions import FOLDER, first_version, pinned

WHY = "it is the engine that makes the cluster, in Azure and in the sandbox"
HOST = "pulumi-language-python"
SITE_PATIENCE_S = 3.0


def ensure(context: Context) -> Tool:
    """Return the CLI of the pinned version with a Python language host beside it, installing it once if need be."""
    wanted = pinned()["pulumi"]
    folder = folder_of(context)
    if (there := on_path(wanted["version"])) and folder not in there.parents:
        return Tool("pulumi", f"v{wanted['version']}", f"on PATH: {there}", there)
    with files.exclusive(context.cache / "locks" / "pulumi", f"Pulumi v{wanted['version']}"):
        if not (folder / "bin" / "pulumi").exists():
            _install(context, wanted, folder)
        if (folder / "SOURCE").read_text().startswith("registry"):
            # Small and ours: kept current even where another checkout installed the CLI.
            files.write_atomically(folder / "bin" / HOST, (FOLDER / HOST).read_text(), 0o755)
    return Tool("pulumi", f"v{wanted['version']}", (folder / "SOURCE").read_text().strip(), folder / "bin" / "pulumi")


def folder_of(context: Context) -> Path:
    """Return where the cache keeps the pinned version."""
    return context.cache / "pulumi" / f"v{pinned()['pulumi']['version']}"


def on_path(version: str) -> Path | None:
    """Given a version, return a `pulumi` on PATH of exactly that version that brought its language host, or None."""
    found = shutil.which("pulumi")
    if not found:
        return None
    program = Path(found).resolve()
    # The sandbox forbids plugins from PATH, so only a host beside the program counts.
    if not (program.parent / HOST).exists():
        return None
    return program if first_version(commands.output_of([program, "version"]) or "") == version else None


def _install(context: Context, wanted: dict[str, str], folder: Path) -> None:
    answers = context.route != "registry" and site_answers(wanted["installer"])
    if context.route == "official" and not answers:
        raise SetupError(
            f"{wanted['installer']} did not answer within {SITE_PATIENCE_S:.0f} s",
            WHY,
            "check the network, or set FEEDLINE_TOOLCHAIN=registry to build the CLI from its Go module",
        )
    if answers:
        try:
            with files.appearing(folder) as fresh:
                _install_officially(context, wanted, fresh)
            return
        except SetupError as error:
            if context.route == "official":
                raise
            context.say(f"the official installer failed, so the registry route it is. It said:\n{error}")
    with files.appearing(folder) as fresh:
        _build(context, wanted, fresh)


def site_answers(url: str) -> bool:
    """Given the installer's address, return whether its site answers within SITE_PATIENCE_S."""
    try:
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=SITE_PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:  # URLError and TimeoutError are OSErrors
        return False


def _install_officially(context: Context, wanted: dict[str, str], fresh: Path) -> None:
    context.say(f"installing Pulumi v{wanted['version']} with its official installer")
    script = fresh / "install.sh"
    hint = "set FEEDLINE_TOOLCHAIN=registry to build the CLI from its Go module instead"
    try:
        with urllib.request.urlopen(wanted["installer"], timeout=30) as answer:
            script.write_bytes(answer.read())
    except OSError as error:  # URLError and TimeoutError are OSErrors
        raise SetupError(f"{wanted['installer']} could not be read: {error}", WHY, hint) from error
    options = ["--version", wanted["version"], "--install-root", str(fresh), "--no-edit-path"]
    commands.run(["sh", script, *options], WHY, hint)
    script.unlink()
    said = commands.output_of([fresh / "bin" / "pulumi", "version"])
    if first_version(said or "") != wanted["version"]:
        raise SetupError(f"the official installer brought no working v{wanted['version']}, but {said!r}", WHY, hint)
    (fresh / "SOURCE").write_text("official installer\n")


def _build(context: Context, wanted: dict[str, str], fresh: Path) -> None:
    """Build the CLI as its own release does; see toolchain/pulumi/go.mod for the exact sources."""
    go = golang.program(context)
    context.say(f"building Pulumi v{wanted['version']} from its Go module (once; 5 to 10 minutes on 2 cores)")
    began = time.monotonic()
    version = f"-X {wanted['sdk_module']}/go/common/version.Version=v{wanted['version']}"
    flags = ["-trimpath", "-buildvcs=false", "-tags", "osusergo,grpcnotrace", "-ldflags", f"-s -w {version}"]
    # GOTOOLCHAIN=local: golang.program has chosen a Go that is new enough; nothing else is to be downloaded.
    environment = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    hint = "check that the Go module proxy can be reached (`go env GOPROXY`), or put Pulumi on PATH yourself"
    commands.run(
        [go, "build", *flags, "-o", fresh / "bin" / "pulumi", wanted["module"]],
        WHY,
        hint,
        cwd=FOLDER / "pulumi",
        env=environment,
    )
    add_language_host(go, fresh, environment)
    took = time.monotonic() - began
    (fresh / "SOURCE").write_text(f"registry: built from its Go module in {took:.0f} s\n")


def add_language_host(go: Path, folder: Path, environment: dict[str, str]) -> None:
    """Put our language host and the SDK's own program runner beside the CLI of `folder`."""
    argv = [go, "list", "-m", "-f", "{{.Dir}}", pinned()["pulumi"]["sdk_module"]]
    sdk = commands.run(
        argv, "the SDK's program runner starts every Python program", "", cwd=FOLDER / "pulumi", env=environment
    )
    runner = Path(sdk.strip(), "python", "cmd", "pulumi-language-python-exec")
    shutil.copyfile(runner, folder / "bin" / runner.name)
    (folder / "bin" / runner.name).chmod(0o755)  # the module cache is read-only
    files.write_atomically(folder / "bin" / HOST, (FOLDER / HOST).read_text(), 0o755)
