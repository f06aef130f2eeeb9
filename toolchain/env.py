"""The environment in which `pulumi`, `fab`, the sandbox and the tests run, by hand and by program."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from sandbox.layout import Layout
from toolchain import actionlint, blobfuse2, node_js, pulumi_cli
from toolchain.context import Context

# Public on purpose: it protects nothing but the sandbox's own state, and Pulumi.sandbox.yaml carries its salt.
SANDBOX_PASSPHRASE = "feedline-sandbox"


def pulumi_home(checkout: Path) -> Path:
    """Return the PULUMI_HOME that only this checkout's sandbox uses; it holds the simulated azure-native plugin."""
    return checkout.resolve() / ".feedline" / "pulumi" / "home"


def pulumi_state(checkout: Path) -> Path:
    """Return the folder of the sandbox's file backend."""
    return checkout.resolve() / ".feedline" / "pulumi" / "state"


def operator_key(checkout: Path) -> Path:
    """Return the private key that enters this checkout's simulated nodes; Pulumi.sandbox.yaml names its public half."""
    return checkout.resolve() / ".feedline" / "ssh" / "id_ed25519"


def proxy_command(context: Context) -> str:
    """Return ssh's ProxyCommand into the sandbox's network. -S -E: it starts for each connection, so bare."""
    program = context.checkout / "sandbox" / "ssh_proxy.py"
    dial = Layout.of(context.checkout).dial_socket
    return f"{shlex.join([str(context.python), '-S', '-E', str(program), str(dial)])} %h %p"


def sandbox_env(checkout: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Given a checkout and the caller's environment, return the variables that the sandbox adds or changes.

    Merge them over the caller's environment: `{**os.environ, **sandbox_env(checkout)}`.
    """
    context = Context.of(checkout, environ)
    npm = node_js.folder_of(context)
    variables = {
        **tool_env(context, environ),
        "FEEDLINE_STACK": "sandbox",
        "FEEDLINE_ARM_SOCKET": str(Layout.of(context.checkout).arm_socket),
        "FEEDLINE_SSH_KEY": str(operator_key(context.checkout)),
        "FEEDLINE_SSH_PROXY_COMMAND": proxy_command(context),
        "FEEDLINE_AZCOPY": str(npm / node_js.AZCOPY),
        "FEEDLINE_ACTIONLINT": shutil.which("actionlint") or str(actionlint.program_of(context)),
        "FEEDLINE_AZURITE": str(npm / node_js.AZURITE),
        "PULUMI_HOME": str(pulumi_home(context.checkout)),
        "PULUMI_BACKEND_URL": f"file://{pulumi_state(context.checkout)}",
        "PULUMI_CONFIG_PASSPHRASE": SANDBOX_PASSPHRASE,
        "PULUMI_CREDENTIAL_STORE": "plaintext",  # else it looks for a keyring or TPM
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DISABLE_REGISTRY_RESOLVE": "true",
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",  # a real azure-native on PATH must never be used here
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "NO_PROXY": _with_local(environ.get("NO_PROXY") or environ.get("no_proxy") or ""),
    }
    variables["no_proxy"] = variables["NO_PROXY"]
    real = blobfuse2.find(environ).path
    if real:
        variables["FEEDLINE_BLOBFUSE2"] = str(real)
    return variables


def tool_env(context: Context, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Given a context, return what our Pulumi CLI and its language host need, without any stack or backend."""
    folders = [str(context.venv / "bin"), *_tool_folders(context, environ)]
    rest = [part for part in environ.get("PATH", os.defpath).split(":") if part and part not in folders]
    return {
        "PATH": ":".join([*folders, *rest]),
        "VIRTUAL_ENV": str(context.venv),
        "FEEDLINE_HOST_PYTHON": str(context.python),
        "FEEDLINE_LANGUAGE_HOST": str(context.checkout / "toolchain" / "language_host" / "__main__.py"),
    }


def _tool_folders(context: Context, environ: Mapping[str, str]) -> list[str]:
    """Return the folders of tools that the setup put into the cache, if it had to."""
    pulumi = pulumi_cli.folder_of(context) / "bin"
    node = node_js.wheel_folder(context)
    return [str(folder) for folder in (pulumi, node) if folder.is_dir()]


def _with_local(no_proxy: str) -> str:
    """Given a NO_PROXY list, return it with the loopback names that gRPC and the sandbox use."""
    names = [name for name in no_proxy.split(",") if name]
    return ",".join([*names, *(name for name in ("127.0.0.1", "localhost", "::1") if name not in names)])


def as_exports(variables: Mapping[str, str]) -> str:
    """Given variables, return `export` lines that a POSIX shell evaluates to exactly these values."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items()))
