"""./run tests: all stages in order, and an exit code that is 0 only if every one of them passed."""

import subprocess

import pytest

from toolchain import stages
from toolchain.errors import SetupError


@pytest.mark.parametrize(
    ("words", "stage", "rest"),
    [
        ([], None, []),
        (["unit"], "unit", []),
        (["unit", "-k", "engine"], "unit", ["-k", "engine"]),
    ],
)
def test_a_stage_is_told_from_what_is_pytests(words, stage, rest):
    assert stages.split(words) == (stage, rest)


@pytest.mark.parametrize("words", [["-k", "unit"], ["--lf"], ["units"]])
def test_pytests_arguments_without_a_stage_are_refused_with_the_stages(words):
    with pytest.raises(SetupError, match="lint, unit, doors, engine, rehearsal, docs"):
        stages.split(words)


@pytest.fixture
def ran(monkeypatch):
    """The command lines that were run; `failing` holds the words that make one fail."""
    lines = []

    def run(argv, **options):
        lines.append(" ".join(argv))
        return subprocess.CompletedProcess(argv, 5 if ran.failing and ran.failing in lines[-1] else 0)

    def ran():
        return lines

    ran.failing = None
    monkeypatch.setattr(stages.subprocess, "run", run)
    return ran


def test_all_stages_run_in_order_with_lint_first(context, ran):
    assert stages.run(context, None, []) == 0
    order = [name for line in ran() for name in ("ruff", "mypy", "lint-imports", *stages.TIERS) if name in line]
    assert order == ["ruff", "ruff", "mypy", "lint-imports", "unit", "doors", "engine", "rehearsal", "docs"]


@pytest.mark.parametrize("failing", ["mypy", "tests/unit", "tests/docs"])
def test_one_failure_fails_the_whole_and_the_rest_still_runs(context, ran, capsys, failing):
    ran.failing = failing
    assert stages.run(context, None, []) == 1
    assert len(ran()) == len(stages.LINTERS) + len(stages.TIERS)
    assert "exit 5" in capsys.readouterr().out


def test_one_stage_runs_alone_with_pytests_arguments(context, ran):
    assert stages.run(context, "unit", ["-k", "words"]) == 0
    assert [line.split(" -m ")[1] for line in ran()] == ["pytest tests/unit -n auto --dist loadfile -k words"]
