"""python -m sandbox up [--fresh] | down | status [--json] | fault NAME [ARG…] [--revert] | faults
| exec NODE -- ARGV… | ssh-proxy HOST PORT | image"""

import argparse
import sys
from pathlib import Path

from sandbox import commands
from sandbox.client import Unreachable
from sandbox.layout import Layout
from sandbox.lifecycle import LifecycleError
from sandbox.nodes.tools import ToolError


def parser() -> argparse.ArgumentParser:
    """Return the command line of the sandbox."""
    top = argparse.ArgumentParser(prog="sandbox", description="The simulated Azure of this checkout.")
    top.add_argument("--checkout", type=Path, default=Path(__file__).resolve().parents[1], help=argparse.SUPPRESS)
    verbs = top.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("up", help="start it, or say that it runs")
    start.add_argument("--fresh", action="store_true", help="begin with an empty cloud")
    verbs.add_parser("down", help="end everything in it and clean up")
    shown = verbs.add_parser("status", help="what runs in it")
    shown.add_argument("--json", action="store_true", help="as JSON")
    fault = verbs.add_parser("fault", help="break something, by name")
    fault.add_argument("name")
    fault.add_argument("args", nargs="*")
    fault.add_argument("--revert", action="store_true", help="undo it")
    verbs.add_parser("faults", help="list what can be broken")
    inside = verbs.add_parser("exec", help="run a command in a node, as root")
    inside.add_argument("node")
    inside.add_argument("argv", nargs=argparse.REMAINDER)
    proxy = verbs.add_parser("ssh-proxy", help="ssh's ProxyCommand: join standard input and output with HOST PORT")
    proxy.add_argument("host")
    proxy.add_argument("port")
    verbs.add_parser("image", help="make the node image if it is not there, and print its path")
    return top


def main(argv: list[str]) -> int:
    """Given the command line, do it; return 0, or 1 after one message that says what to do."""
    options = parser().parse_args(argv)
    try:
        return commands.VERBS[options.verb](Layout.of(options.checkout), options)
    except (LifecycleError, Unreachable, ToolError, RuntimeError) as failed:
        print(f"sandbox: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sandbox: interrupted; `./run sandbox down` cleans up", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
