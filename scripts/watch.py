"""Task `watch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scripts.arguments import Arguments
from scripts.task import runbook

if TYPE_CHECKING:
    from feedline.contract import Contract
    from feedline.reference import Reference
    from scripts.screen import Screen


@runbook(changes=False)
def watch(arguments: Arguments, to: str = "") -> int:
    """Write what Prometheus and Grafana need to watch the nodes: rules against what `fab validate` measured, whom to
    scrape, a dashboard.

    Reads the contract and the last measurements; no node is asked. Usage: fab watch --to DIR [--json]
    """
    import json
    from pathlib import Path

    from feedline.errors import OperationError
    from feedline.reference import references
    from scripts.inventory import read
    from scripts.places import Places, write
    from scripts.screen import Screen
    from scripts.state import State

    if not to:
        raise OperationError("no folder is named", hint="give --to DIR; it is made if it is not there")
    contract = read(arguments)
    found = references(contract, State(Places.of().state(contract.cluster)).load("validate"))
    folder = Path(to)
    try:
        for name, text in files(contract, found).items():
            write(folder / name, text)
    except OSError as error:
        raise OperationError(
            f"cannot be written: {error.strerror}", where=str(folder), hint="give a folder that you may write to"
        ) from error
    if arguments.json:
        print(json.dumps(as_json(contract, found, folder), indent=2))
    show(Screen(quiet=arguments.json), contract, found, folder)
    return 0


def files(contract: Contract, found: Sequence[Reference]) -> dict[str, str]:
    """Given the contract and the references, return the files by name. The same input gives the same bytes."""
    import json

    from feedline.render import grafana, prometheus

    values = {
        "rules.yaml": prometheus.rules(contract, found),
        "scrape.yaml": prometheus.scrape(contract),
        "dashboard.json": grafana.dashboard(contract),
    }
    return {name: json.dumps(value, indent=2) + "\n" for name, value in values.items()}


def as_json(contract: Contract, found: Sequence[Reference], folder: Any) -> dict[str, Any]:
    """Given what was written, return what --json prints."""
    return {
        "cluster": contract.cluster,
        "simulated": contract.is_sandbox,
        "folder": str(folder),
        "required_bytes_per_s": contract.workload.required_bytes_per_s,
        "nodes": {
            r.node: {
                "status": "NOT_MEASURED" if r.bytes_per_s is None else "MEASURED",
                "reference_bytes_per_s": r.bytes_per_s,
                "reference_reads_per_s": r.reads_per_s,
                "why": r.why,
            }
            for r in found
        },
        "scale_sets": [s.name for s in contract.scale_sets],
    }


def show(screen: Screen, contract: Contract, found: Sequence[Reference], folder: Any) -> None:
    """Tell which nodes are held to what was measured, and which to the workload's required rate only."""
    from feedline.render.prometheus import has_dcgm
    from feedline.units import human_rate

    required = human_rate(contract.workload.required_bytes_per_s)
    instead = f"its rule uses the required {required} instead; run `fab validate`, then `fab watch` again"
    for r in found:
        if r.bytes_per_s is None:
            screen.say(f"{r.node}: NOT MEASURED ({r.why}): {instead}", "yellow")
        elif r.reads_per_s is None:
            screen.say(f"{r.node}: {human_rate(r.bytes_per_s)}, {r.why}; reads/s NOT MEASURED: no rule on them")
        else:
            screen.say(f"{r.node}: {human_rate(r.bytes_per_s)} at {r.reads_per_s:,.0f} reads/s, {r.why}")
    for s in contract.scale_sets:
        screen.say(f"instances of scale set {s.name}: NOT MEASURED: {instead}", "yellow")
    blind = [n.name for n in contract.nodes if n.role == "train" and not has_dcgm(n.size, n.role)]
    if blind:
        screen.say(f"{', '.join(blind)}: no GPU metrics (dcgm-exporter knows NVIDIA only): no feed alerts", "yellow")
    if contract.is_sandbox:
        screen.say("SANDBOX: these references prove nothing about real hardware", "yellow")
    screen.say(f"written: {', '.join(sorted(files(contract, found)))} in {folder}")
