"""A preview as a page: what would change, what the policies say, and the feed plan - from the engine's own events.

The events are those of `PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 pulumi preview --json`, one JSON object a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SIGNS = {
    "create": "+",
    "update": "~",
    "replace": "+-",
    "create-replacement": "++",
    "delete-replaced": "--",
    "delete": "-",
}
QUIET = ("same", "read", "refresh")


@dataclass
class Preview:
    """What a preview said: steps as (operation, type, name), findings as (level, rule, text), messages, and the end."""

    steps: list[tuple[str, str, str]] = field(default_factory=list)
    findings: list[tuple[str, str, str]] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    changes: Mapping[str, int] = field(default_factory=dict)
    result: str = "it did not end"

    @property
    def refused(self) -> bool:
        """Whether a mandatory policy says no."""
        return any(level == "mandatory" for level, _, _ in self.findings)


def read(events: Iterable[Mapping[str, Any]]) -> Preview:
    """Given the engine's events, return what they say."""
    found = Preview()
    for event in events:
        if step := event.get("resourcePreEvent"):
            _step(found, step["metadata"])
        elif said := event.get("policyEvent"):
            found.findings.append((said["enforcementLevel"], said["policyName"], said["message"].strip()))
        elif (said := event.get("diagnosticEvent")) and said.get("severity") in (
            "error",
            "warning",
            "info#err",
            "info",
        ):
            found.messages.append((said["severity"].split("#")[0], said["message"].strip()))
        elif end := event.get("summaryEvent"):
            found.changes, found.result = end.get("resourceChanges") or {}, end.get("result", found.result)
    return found


def _step(found: Preview, metadata: Mapping[str, Any]) -> None:
    operation, kind = metadata["op"], metadata["type"]
    if operation not in QUIET and not kind.startswith("pulumi:"):
        found.steps.append((operation, kind.removeprefix("azure-native:"), metadata["urn"].rsplit("::", 1)[1]))


def markdown(stack: str, found: Preview) -> str:
    """Given a stack's name and a preview, return the page: the verdict first, what destroys before what makes."""
    verdict = "refused by policy" if found.refused else found.result
    lines = [f"## {stack}: {verdict}", ""]
    counts = ", ".join(f"{count} {name}" for name, count in sorted(found.changes.items()) if count)
    lines += [counts or "nothing changes", ""]
    for title, level in (("Policies that refuse it", "mandatory"), ("Advice", "advisory")):
        some = [(rule, text) for found_level, rule, text in found.findings if found_level == level]
        if some:
            lines += [f"### {title}", "", *(f"- **{rule}** {_line(text)}" for rule, text in some), ""]
    told = [(severity, text) for severity, text in found.messages if text]
    if told:
        lines += [
            "### What the program says",
            "",
            *(f"- {_mark(severity)}{_line(text)}" for severity, text in told),
            "",
        ]
    if found.steps:
        gone = [step for step in found.steps if "delete" in step[0] or "replace" in step[0]]
        rest = [step for step in found.steps if step not in gone]
        lines += ["### Resources", "", "| | type | name |", "|---|---|---|"]
        lines += [f"| `{SIGNS.get(op, op)}` | {kind} | {name} |" for op, kind, name in [*gone, *rest]]
    return "\n".join(lines).rstrip() + "\n"


def _mark(severity: str) -> str:
    return "" if severity == "info" else f"**{severity}** "


def _line(text: str) -> str:
    """One line of Markdown: breaks become spaces, and nothing in it makes a table or a heading."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
