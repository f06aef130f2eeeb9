"""What a person sees: progress on stderr, one line a node; plans, questions and one table at the end on stdout."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from feedline.contract import Contract
from feedline.errors import OperationError
from feedline.plan import Plan
from feedline.render import report
from feedline.units import human_bytes, human_rate
from feedline.verdict import Status
from feedline.verdicts.cluster import GateResult

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {
    Status.PASS: "green",
    Status.WARN: "yellow",
    Status.NOT_MEASURED: "yellow",
    Status.INVALID: "red",
    Status.FAIL: "bold red",
}
FILE_WIDTH = 160
Notify = Callable[[str, Mapping[str, Any]], None]


class Screen:
    """One task's output. With `quiet` (for --json) nothing but progress is shown, and that only on a terminal."""

    def __init__(self, *, quiet: bool = False, out: Console | None = None, err: Console | None = None) -> None:
        from rich.console import Console

        self.quiet = quiet
        # Into a file or a pipe lines are as long as they need to be to stay readable: nobody resizes those.
        self.out = out or Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
        self.err = err or Console(stderr=True, highlight=False)

    def say(self, text: str, style: str = "") -> None:
        """Given a line, print it."""
        if not self.quiet:
            self.out.print(text, style=style or None, markup=False)

    @contextmanager
    def progress(self, title: str, nodes: Sequence[str]) -> Iterator[Notify]:
        """Given what is done and on which nodes, yield a function that takes (node, progress line) from any thread."""
        if self.err.is_terminal:
            with self._bars(title, nodes) as notify:
                yield notify
        else:
            started, lock, last = time.monotonic(), threading.Lock(), dict.fromkeys(nodes, "")

            def notify_plainly(node: str, line: Mapping[str, Any]) -> None:
                # Into a log file go changes of what is done, not every byte count.
                head = str(line.get("text", "")).split(":")[0].split("(")[0]
                with lock:
                    if not self.quiet and head and head != last.get(node):
                        last[node] = head
                        self.err.print(
                            f"  {time.monotonic() - started:6.1f} s  {node}: {line['text']}",
                            markup=False,
                            soft_wrap=True,
                        )

            yield notify_plainly

    @contextmanager
    def _bars(self, title: str, nodes: Sequence[str]) -> Iterator[Notify]:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("  {task.fields[node]:<12}"),
            BarColumn(20),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.err, transient=True) as bars:
            tasks = {node: bars.add_task(title, node=node, total=None, rate="") for node in nodes}

            def notify(node: str, line: Mapping[str, Any]) -> None:
                task = tasks[node]
                done, total, unit = line.get("done"), line.get("total"), line.get("unit", "")
                rate = bars.tasks[task].speed
                shown = (
                    f"{human_bytes(done)} {human_rate(rate) if rate else ''}"
                    if unit == "B" and done is not None
                    else f"{done}/{total} {unit}"
                    if total
                    else ""
                )
                bars.update(
                    task, description=str(line.get("text", "")), completed=done or 0, total=total or None, rate=shown
                )

            yield notify

    def plans(self, gate: str, plans: Mapping[str, Plan]) -> None:
        """Given each node's plan, print the steps; nodes with the same plan share one listing."""
        same: dict[str, list[str]] = {}
        for node, plan in plans.items():
            same.setdefault("\0".join(step.why for step in plan.steps) or f"\0{plan.nothing_because}", []).append(node)
        for nodes in same.values():
            plan = plans[nodes[0]]
            if not plan:
                self.say(
                    f"{gate}: {', '.join(nodes)}: nothing to do: {plan.nothing_because or 'all is as it should be'}"
                )
                continue
            self.say(f"{gate}: plan for {', '.join(nodes)}:", "bold")
            for number, step in enumerate(plan.steps, 1):
                wipes = f"  DESTROYS {step.destroys}" if step.destroys else ""
                self.say(f"  {number}. {step.why}{wipes}", "bold red" if wipes else "")

    def table(self, contract: Contract, results: Sequence[GateResult]) -> None:
        """Given the gates' results, print one table."""
        if self.quiet:
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        for column in ("GATE", "VERDICT", "NUMBERS", "TIME"):
            table.add_column(column, overflow="fold", no_wrap=column != "NUMBERS")
        for row in report.rows(results, is_sandbox=contract.is_sandbox):
            table.add_row(row.gate, Text(str(row.status), STYLES[row.status]), Text("\n".join(row.lines)), row.when)
        self.out.print(table)

    def notes(self, contract: Contract, cache_program: str) -> None:
        """Print what was simulated and what a rehearsal cannot show."""
        for title, items in report.notes(contract, cache_program):
            self.say(f"{title}:", "bold")
            for item in items:
                self.say(f"  - {item}")


def confirm(contract: Contract, plans: Mapping[str, Plan], *, yes: bool, confirmed: str, screen: Screen) -> bool:
    """Given plans that were shown, return whether to carry them out. Raise OperationError where nobody can be asked.

    A plan that destroys something asks for the cluster's name; --yes alone is not enough for it.
    """
    destroyed = [f"{node}: {what}" for node, plan in plans.items() for what in plan.destroys]
    terminal = sys.stdin.isatty()
    if destroyed:
        if confirmed == contract.cluster:
            return True
        if confirmed or not terminal:
            raise OperationError(
                f"this destroys {', '.join(destroyed)}"
                + (f"; {confirmed!r} is not this cluster's name" if confirmed else ""),
                where=f"cluster {contract.cluster}",
                hint=f"say so by name: --confirm-cluster {contract.cluster}",
            )
        screen.say(f"This destroys {', '.join(destroyed)}.", "bold red")
        return _ask(f"Type the cluster's name ({contract.cluster}) to go on: ") == contract.cluster
    if yes:
        return True
    if not terminal:
        raise OperationError(
            "there is a plan to confirm and no terminal to ask on",
            where=f"cluster {contract.cluster}",
            hint="--yes carries it out, --dry-run only shows it",
        )
    return _ask("Go on? [y/N] ").strip().lower() in ("y", "yes")


def _ask(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        return ""
