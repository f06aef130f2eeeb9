"""The same rules over a stack that exists: `pulumi stack export | python -m policies.over`. Needs no engine, no login
and no provider, so a nightly pipeline can ask whether what stands is still what may stand.

Exit 0: nothing mandatory is violated. 1: the input cannot be read. 2: something mandatory is, or could not be judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from feedline.errors import FeedlineError, OperationError
from policies import config, exceptions
from policies.export import NotKnown, Stack
from policies.judge import ABOUT_EXCEPTIONS, Judge
from policies.rule import Resource, Rule, StackRule
from policies.rules import ALL, BY_ID

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Finding:
    """One violation, or one rule that could not be judged."""

    rule: str
    level: str
    resource: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"[{self.level}] {self.rule}  {self.resource or 'the stack'}: {self.problem}\n    fix: {self.fix}"


def findings(stack: Stack, judge: Judge, settings: config.Configuration) -> Iterator[Finding]:
    """Given a stack, yield everything that violates a rule which is not disabled. A bug in a rule raises."""
    resources = stack.resources()
    for rule in ALL:
        level = settings.levels.get(rule.id, rule.level)
        if level != "disabled":
            for name, problem in _of(rule, resources, judge, settings.values.get(rule.id)):
                yield Finding(rule.id, level, name, problem, rule.fix)
    for about, (usual, _, fix) in ABOUT_EXCEPTIONS.items():
        level = settings.levels.get(about, usual)
        if level != "disabled":
            for name, problem in judge.exceptions(about, resources):
                yield Finding(about, level, name, problem, fix)


def _of(
    rule: Rule | StackRule, resources: Sequence[Resource], judge: Judge, told: Mapping[str, Any] | None
) -> Iterator[tuple[str, str]]:
    if isinstance(rule, StackRule):
        try:
            yield from judge.stack(rule, resources, told)
        except NotKnown as unknown:
            yield "", f"could not be judged: {unknown}"
        return
    for resource in resources:
        try:
            yield from ((resource.name, problem) for problem in judge.resource(rule, resource, told))
        except NotKnown as unknown:
            yield resource.name, f"could not be judged: {unknown}"


def main(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Given arguments and streams, judge the export on `stdin` and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m policies.over", description=__doc__)
    parser.add_argument("--config", type=Path, help="the pack's configuration, as for --policy-pack-config")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(argv)
    try:
        document = _json(options.config.read_text(), str(options.config)) if options.config else {}
        settings = config.parse(document, where=str(options.config or ""))
        stack = Stack.parse(_json(stdin.read(), "the export"))
    except OSError as error:
        stderr.write(f"{OperationError(f'{options.config}: {error.strerror}')}\n")
        return 1
    except FeedlineError as error:
        stderr.write(f"{error}\n")
        return error.exit_code
    register = exceptions.parse((HERE / "exceptions.toml").read_text(encoding="utf-8"), BY_ID)
    judge = Judge(register, datetime.now(tz=UTC).date(), stack.name, stack.project)
    found = list(findings(stack, judge, settings))
    count = sum(finding.level == "mandatory" for finding in found)
    if options.json:
        stdout.write(json.dumps([asdict(finding) for finding in found], indent=2) + "\n")
    else:
        stdout.writelines(f"{finding}\n" for finding in found)
        resources = len(stack.resources())
        stdout.write(f"stack {stack.name}: {resources} resources, {count} mandatory, {len(found) - count} advisory\n")
    return 2 if count else 0


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        hint = "pulumi stack export --stack NAME | python -m policies.over"
        raise OperationError(f"is not JSON: {error}", where=where, hint=hint) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
