"""Task `size`."""

from __future__ import annotations

from scripts.arguments import Arguments
from scripts.task import runbook


@runbook(changes=False)
def size(arguments: Arguments) -> int:
    """Show the feed plan that `pulumi up` computed: what must be fed, what can be, and the same at ten times the data.

    Reads the contract only; no node is asked. Usage: fab size [--json]
    """
    import json

    from scripts.inventory import load
    from scripts.screen import Screen

    contract = load(arguments)
    if arguments.json:
        print(json.dumps({"cluster": contract.cluster, "feed_plan": dict(contract.feed_plan)}, indent=2))
    screen = Screen(quiet=arguments.json)
    for name, title in (("now", "now"), ("at_10x", "at ten times the data")):
        plan = contract.feed_plan.get(name) or {}
        style = "bold red" if plan.get("starved") else ""
        screen.say(f"{title}: {plan.get('message', 'the contract says nothing')}", style)
    return 2 if (contract.feed_plan.get("now") or {}).get("starved") else 0
