"""`python -m toolchain setup|env|stack|tests`: what ./run calls."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from toolchain import env, pulumi_home, setup, stages
from toolchain.context import Context
from toolchain.errors import SetupError, explain

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Do what the command line says and return the exit code: 0 done, 1 could not be done."""
    parser = argparse.ArgumentParser(prog="toolchain", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("setup", help="install what is missing, one line per tool")
    making.add_argument("--level", choices=sorted(setup.STEPS), default="sandbox")
    making.add_argument("--quiet", action="store_true", help="say only what takes long or fails")
    commands.add_parser("env", help="print the sandbox's environment as export lines")
    commands.add_parser("stack", help="make the stack `sandbox` exist and be selected")
    testing = commands.add_parser("tests", help="run the test stages", prefix_chars="\0")  # options are pytest's
    testing.add_argument("words", nargs="*", metavar="[STAGE] [PYTEST ARGUMENTS]")
    arguments = parser.parse_args()
    try:
        context = Context.of(CHECKOUT)
        if arguments.command == "env":
            print(env.as_exports(env.sandbox_env(CHECKOUT)))
        elif arguments.command == "stack":
            pulumi_home.select_stack(context)
        elif arguments.command == "tests":
            return stages.run(context, *stages.split(arguments.words))
        else:
            for tool in setup.ensure(context, arguments.level):
                if not arguments.quiet:
                    print(tool.line, flush=True)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `./run setup | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"setup: {explain(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; run it again, it continues where it stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
