"""The pipelines are valid, hold no secret, and run only what a person can run here too."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolchain.stages import NAMES

CHECKOUT = Path(__file__).resolve().parents[2]
GITHUB = sorted(CHECKOUT.glob(".github/workflows/*.yml"))
ACTIONS = sorted(CHECKOUT.glob(".github/actions/*/action.yml"))
AZURE = CHECKOUT / "azure-pipelines.yml"
STACKS = ("dev", "staging", "prod")


def values(node: Any, key: str) -> Iterator[Any]:
    """Every value of a key, at any depth."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            yield from values(value, key)
    elif isinstance(node, list):
        for item in node:
            yield from values(item, key)


def lines(path: Path) -> list[str]:
    """Every command line of a pipeline."""
    document = yaml.safe_load(path.read_text())
    scripts = [*values(document, "run"), *values(document, "script"), *values(document, "inlineScript")]
    return [line.strip() for script in scripts for line in str(script).splitlines() if line.strip()]


def everything() -> list[tuple[str, str]]:
    return [(path.name, line) for path in (*GITHUB, *ACTIONS, AZURE) for line in lines(path)]


def test_actionlint_finds_nothing() -> None:
    argv = [os.environ["FEEDLINE_ACTIONLINT"], "-shellcheck=", "-pyflakes="]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_stage_of_the_tests_runs_in_both_pipelines() -> None:
    github = yaml.safe_load((CHECKOUT / ".github/workflows/check.yml").read_text())
    assert tuple(github["jobs"]["tests"]["strategy"]["matrix"]["stage"]) == NAMES
    azure = yaml.safe_load(AZURE.read_text())
    assert tuple(azure["stages"][0]["jobs"][0]["strategy"]["matrix"]) == NAMES


def test_every_stack_that_a_pipeline_names_has_its_settings() -> None:
    for path in GITHUB:
        for stacks in values(yaml.safe_load(path.read_text()), "stack"):
            assert tuple(stacks) == STACKS, path.name
    assert all((CHECKOUT / f"Pulumi.{stack}.yaml").exists() for stack in STACKS)


@pytest.mark.parametrize(("page", "line"), everything(), ids=lambda value: value[:50])
def test_a_command_is_one_that_a_person_can_run_here(page: str, line: str) -> None:
    known = (
        r"sudo --preserve-env=HOME,PATH \./run tests (\$\{\{ matrix\.stage \}\}|\$\(name\))",
        r"uv run --locked python -m scripts\.preview \S.* --summary \S+",
        r"pulumi up --stack \S.* --policy-pack policies --yes --skip-preview --non-interactive",
        r"(uv run --locked )?fab cluster\.drift --stack \S.*",
        r"fab validate --stack \S.* --json > validate\.json",
        r"(pip install uv && )?uv sync --locked",
        r'export (ARM_\w+=("\$\w+"|true) ?)+',
        r'echo "[A-Z_]+=(\$[A-Z]+|true)"|[{}] ?(>> "\$GITHUB_ENV")?|echo "\$PWD/\.venv/bin" >> "\$GITHUB_PATH"',
        r'echo "##vso\[task\.uploadsummary\]\$\(System\.DefaultWorkingDirectory\)/preview\.md"',
    )
    assert any(re.fullmatch(pattern, line) for pattern in known), f"{page}: is this tested? {line}"


def test_the_way_into_azure_is_an_identity_and_never_a_secret() -> None:
    for path in (*GITHUB, *ACTIONS, AZURE):
        text = path.read_text()
        assert "secrets." not in text and not re.search(r"(?i)password|account.?key|client.?secret", text), path.name
    for path in GITHUB:
        document = yaml.safe_load(path.read_text())
        assert document["permissions"] == {"contents": "read"}, path.name
        for name, job in document["jobs"].items():
            uses = str(job.get("steps"))
            if "./.github/actions/pulumi" in uses:
                assert job["permissions"] == {"contents": "read", "id-token": "write"}, (path.name, name)
                assert job.get("environment"), (path.name, name)


def test_no_job_runs_for_ever_and_two_ups_never_race() -> None:
    for path in GITHUB:
        document = yaml.safe_load(path.read_text())
        assert all(job.get("timeout-minutes") or job.get("uses") for job in document["jobs"].values()), path.name
    deploy = yaml.safe_load((CHECKOUT / ".github/workflows/deploy.yml").read_text())
    assert deploy["concurrency"] == {"group": "deploy", "cancel-in-progress": False}
    assert deploy["jobs"]["up"]["strategy"]["max-parallel"] == 1


def test_every_action_of_others_is_pinned_to_a_commit() -> None:
    used = [line for path in (*GITHUB, *ACTIONS) for line in re.findall(r"uses: (.+)", path.read_text())]
    assert [u for u in used if not re.fullmatch(r"\./\.github/\S+|[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", u)] == []
