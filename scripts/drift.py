"""What `cluster.drift` does."""

from __future__ import annotations

import json

from feedline.drift import read
from feedline.errors import OperationError
from scripts.arguments import Arguments
from scripts.evidence import Evidence
from scripts.inventory import read as contract_of
from scripts.inventory import stack_of
from scripts.places import Places
from scripts.preview import streamed
from scripts.screen import Screen

ARGV = ("refresh", "--preview-only", "--json", "--non-interactive", "--color", "never")


def look(arguments: Arguments) -> int:
    """Given the options, compare Azure with the stack's state; show and keep what has drifted. Return 0, or 2 when
    something has. Raise OperationError when not everything could be compared."""
    stack = stack_of(arguments)
    cluster = contract_of(arguments).cluster
    with streamed(stack, [*ARGV, "--stack", stack]) as (events, _):
        found = read(events)
    if found.result != "succeeded":
        raise OperationError(
            "\n".join([f"the comparison failed: {found.result}", *(f"    {line}" for line in found.errors)]),
            where=f"stack {stack}",
            hint="mend that first: what was not compared is not unchanged",
        )
    drifted = [one.as_dict() for one in found.drifted]
    evidence = Evidence(Places.of().evidence(cluster))
    evidence.note("drift.json", {"stack": stack, "looked": found.looked, "drifted": drifted})
    folder = evidence.keep()
    if arguments.json:
        told = {"task": "cluster.drift", "looked": found.looked, "drifted": drifted, "evidence": str(folder)}
        print(json.dumps(told, indent=2))
    screen = Screen(quiet=arguments.json)
    for one in found.drifted:
        screen.say(f"{one.how:<8} {one.type} {one.name}: {', '.join(one.keys)}".rstrip(": "), "bold red")
    many = len(found.drifted)
    screen.say(
        f"{many} of {found.looked} resources have drifted: `pulumi up --refresh` puts them back; what was right to "
        "change belongs into the settings"
        if many
        else f"nothing has drifted: {found.looked} resources are as the last `up` left them"
    )
    screen.say(f"evidence: {Places.of().short(folder)}")
    return 2 if many else 0
