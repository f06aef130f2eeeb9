"""The documents say what is true: generated pages are up to date, links lead somewhere, commands exist."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted([CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *CHECKOUT.glob("docs/**/*.md")])
GATES = ("doctor", "access", "ingest", "nvme", "cache", "validate", "handoff")
FAB = Path(sys.executable).with_name("fab")


def commands(program: str) -> list[tuple[str, str]]:
    """Return (page, command line) for every line of a code block that starts with this program."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```\n(.*?)```", page.read_text(), re.DOTALL):
            found += [
                (page.name, line.split("#")[0].strip()) for line in block.splitlines() if line.startswith(f"{program} ")
            ]
    return found


def test_generated_references_are_up_to_date() -> None:
    pages = runpy.run_path(str(CHECKOUT / "docs" / "generate.py"))["PAGES"]
    stale = [path for path, page in pages.items() if (CHECKOUT / path).read_text() != page()]
    assert stale == [], "run: python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    rooms = "feedline|infra|policies|scripts|node|sandbox|toolchain|tests|docs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]+\.(?:py|toml|md))`", page.read_text())
    assert [name for name in named if not (CHECKOUT / name).exists() and "<" not in name] == []


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_has_a_runbook(gate: str) -> None:
    assert f"fab {gate}" in (CHECKOUT / "docs" / "runbooks" / f"{gate}.md").read_text()


def test_every_task_and_option_in_the_documents_exists() -> None:
    helps: dict[str, str] = {}
    wrong = []
    for page, line in commands("fab"):
        task = line.split()[1]
        if task.startswith("--"):
            continue
        if task not in helps:
            environment = {**os.environ, "COLUMNS": "200"}
            argv = [str(FAB), task, "--help"]
            helps[task] = subprocess.run(
                argv, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
            ).stdout
        options = re.findall(r"(?<=\s)--[a-z-]+", line)
        wrong += [f"{page}: {line}" for option in options if f"{option}" not in helps[task]]
        wrong += [f"{page}: {line}: no such task"] if "Options:" not in helps[task] else []
    assert len(helps) >= 6 and wrong == []


def test_what_the_five_steps_show_is_what_the_tasks_print() -> None:
    page = (CHECKOUT / "docs" / "runbooks" / "five-steps.md").read_text()
    contract = ["--contract", str(CHECKOUT / "tests" / "fixtures" / "contract-sandbox.json")]
    steps = re.findall(r"```\n(fab [^`]*)```\n\n```sh\n(.*?)```", page, re.DOTALL)
    missing = []
    for asked, shown in steps:
        printed = []
        for line in asked.splitlines():
            argv = [str(FAB), *line.split()[1:], *contract]
            printed += subprocess.run(
                argv, cwd=CHECKOUT, capture_output=True, text=True, check=True
            ).stdout.splitlines()
        missing += [line for line in shown.splitlines() if line not in printed]
    assert len(steps) == 5 and missing == []


def test_every_command_of_run_in_the_documents_exists() -> None:
    usage = subprocess.run([str(CHECKOUT / "run")], capture_output=True, text=True, check=False).stdout
    known = set(re.findall(r"^  (\w+) ", usage, re.MULTILINE))
    used = {line.split()[1] for _, line in commands("./run")}
    assert used and used <= known


def test_every_fault_in_the_readme_is_one_that_can_be_rehearsed() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "scripts.rehearsal", "--help"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    faults = re.findall(r"--fault ([a-z-]+)", (CHECKOUT / "README.md").read_text())
    assert len(faults) == 3 and all(fault in said for fault in faults)


def test_every_reason_a_runbook_explains_is_one_that_the_code_gives() -> None:
    code = (
        "".join(path.read_text() for path in CHECKOUT.glob("feedline/verdicts/*.py"))
        + (CHECKOUT / "node" / "cache.py").read_text()
    )
    variables = ("AZURE_", "ARM_", "PULUMI_", "FEEDLINE_")
    explained = {
        reason
        for page in CHECKOUT.glob("docs/runbooks/*.md")
        for reason in re.findall(r"`([A-Z]+_[A-Z_]+)`", page.read_text())
        if not reason.startswith(variables)
    }
    assert explained and {reason for reason in explained if f'"{reason}"' not in code} == set()
