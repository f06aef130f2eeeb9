"""What each verb of `python -m sandbox` does."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sandbox import client, lifecycle, preflight, ssh_proxy
from sandbox.layout import Layout
from sandbox.nodes import nspawn
from sandbox.nodes.image import ensure_image


def up(layout: Layout, options: argparse.Namespace) -> int:
    """Start the sandbox; print one line when it is healthy."""
    tools = preflight.Tools.of_environment()
    if lacking := preflight.problems(tools):
        raise lifecycle.LifecycleError(
            "this machine cannot run a sandbox:\n" + "\n".join(f"  - {one}" for one in lacking)
        )
    found = lifecycle.up(
        layout, options.checkout.resolve(), tools, fresh=options.fresh, say=lambda line: print(line, flush=True)
    )
    print(_line(found))
    return 1 if any(node["power"] == "failed" for node in found["nodes"]) else 0


def down(layout: Layout, options: argparse.Namespace) -> int:
    """Stop the sandbox."""
    _need_root()
    print("sandbox: stopped" if lifecycle.down(layout) else "sandbox: was not running; nothing of it is left")
    return 0


def status(layout: Layout, options: argparse.Namespace) -> int:
    """Print what runs; exit 1 if nothing does."""
    try:
        found = lifecycle.status(layout)
    except client.Unreachable:
        if not options.json:
            raise
        print(json.dumps({"running": False}))
        return 1
    if options.json:
        print(json.dumps({"running": True} | found, indent=2))
        return 0
    print(_line(found))
    for node in found["nodes"]:
        nvme = f"NVMe {node['nvme_bytes'] / 2**30:.0f} GiB" if node["nvme_bytes"] else "no NVMe"
        direct = "" if node["direct_io"] is not False else "  WARNING: no direct I/O, disk rates are the page cache's"
        print(f"  {node['name']:<12} {node['power']:<12} {node['address']:<15} {node['gpus']} GPUs, {nvme}{direct}")
    for fault in found["faults"]:
        print(f"  FAULT {fault['name']} {' '.join(fault['args'])}  (since {fault['since']})")
    return 0


def fault(layout: Layout, options: argparse.Namespace) -> int:
    """Inject or revert a fault."""
    method = "DELETE" if options.revert else "PUT"
    code, answer = client.call(
        layout.arm_socket, method, f"/sandbox/faults/{options.name}", {"args": options.args}, timeout=180
    )
    if code >= 400:
        raise RuntimeError(
            answer.get("error", {}).get("message", str(answer)) if isinstance(answer, dict) else str(answer)
        )
    print((answer or {}).get("message") or f"fault {options.name}: {'reverted' if options.revert else 'active'}")
    return 0


def faults(layout: Layout, options: argparse.Namespace) -> int:
    """List the faults there are."""
    from sandbox.faults import FAULTS

    for each in FAULTS.values():
        print(f"{each.usage:<34} {each.doc}")
    return 0


def execute(layout: Layout, options: argparse.Namespace) -> int:
    """Run a command in a node, as root, with this terminal's input and output."""
    _need_root()
    init = lifecycle.process(layout)
    node = next((n for n in lifecycle.status(layout)["nodes"] if n["name"] == options.node), None)
    argv = options.argv[1:] if options.argv[:1] == ["--"] else options.argv
    if init is None or node is None or node["leader"] is None:
        raise RuntimeError(f"node {options.node} does not run; `./run sandbox status` lists those that do")
    if not argv:
        raise RuntimeError("exec needs a command: sandbox exec NODE -- ARGV…")
    inside = nspawn.exec_argv(node["leader"], node["cgroups"], argv)
    return subprocess.run(
        ["nsenter", f"--target={init.pid}", "--mount", "--pid", "--", *inside], check=False
    ).returncode


def proxy(layout: Layout, options: argparse.Namespace) -> int:
    """Be ssh's ProxyCommand."""
    return ssh_proxy.main([str(layout.dial_socket), options.host, options.port])


def image(layout: Layout, options: argparse.Namespace) -> int:
    """Make the node image."""
    _need_root()
    print(ensure_image(layout.images, lambda line: print(line, file=sys.stderr, flush=True)))
    return 0


VERBS: Mapping[str, Callable[[Layout, argparse.Namespace], int]] = {
    "up": up,
    "down": down,
    "status": status,
    "fault": fault,
    "faults": faults,
    "exec": execute,
    "ssh-proxy": proxy,
    "image": image,
}


def _need_root() -> None:
    if os.geteuid() != 0:
        raise RuntimeError("this needs root: run it with sudo")


def _line(found: dict[str, Any]) -> str:
    powers = [node["power"] for node in found["nodes"]]
    counts = ", ".join(f"{powers.count(power)} {power}" for power in dict.fromkeys(powers)) or "no nodes yet"
    broken = f"; {len(found['faults'])} fault(s) active" if found["faults"] else ""
    return f"sandbox: running, {found['resources']} resources, {counts}{broken}"
