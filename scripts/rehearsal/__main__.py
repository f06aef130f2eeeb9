"""`python -m scripts.rehearsal [--fault NAME] [--again] [--placement uniform]`: what ./run rehearsal does once every
tool is there."""

from __future__ import annotations

import argparse
import os
import sys

from scripts.arguments import Arguments
from scripts.places import Places
from scripts.rehearsal import cloud, faults, main_job
from scripts.rehearsal.stages import Stages
from scripts.screen import Screen
from scripts.task import guarded


def main(argv: list[str]) -> int:
    """Given the command line, rehearse; return 0 if every gate passed (or the fault was caught), 2 if not, 1 if it
    could not be done."""
    from toolchain.env import pulumi_state

    parser = argparse.ArgumentParser(prog="rehearsal", description="The main job on one machine, in a simulated Azure.")
    parser.add_argument("--fault", choices=sorted(faults.FAULTS), help="break one thing in the running sandbox")
    parser.add_argument(
        "--again", action="store_true", help="measure the running cluster anew instead of beginning empty"
    )
    parser.add_argument(
        "--placement",
        choices=("availability_set", "uniform"),
        default="availability_set",
        help="declare each GPU node, or make them a scale set's instances",
    )
    options = parser.parse_args(argv)
    places = Places.of()
    os.environ.update(cloud.environment(places.checkout, places.checkout))
    screen = Screen()
    stages = Stages(places, places.checkout, screen)

    def work() -> int:
        arguments = Arguments(stack=cloud.STACK, yes=True)
        if options.fault:
            return 0 if faults.rehearse(options.fault, faults.FAULTS[options.fault], arguments, stages) else 2
        if not options.again:
            main_job.make_cluster(stages, screen, pulumi_state(places.checkout), options.placement)
        return main_job.get_ready(stages, arguments, again=options.again)

    def alone() -> int:
        with stages.alone(places.home / "rehearsal.lock"):
            try:
                return work()
            finally:
                stages.show()

    return guarded("./run rehearsal", alone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
