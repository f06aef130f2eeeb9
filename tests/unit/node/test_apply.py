"""A plan is carried out in order, only the one that was confirmed, and stops at the first step that fails."""

import json
from pathlib import Path

import pytest

from feedline.errors import OperationError
from feedline.plan import Plan, Step
from node import apply as applying


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(applying, "LOG_FOLDER", str(tmp_path / "log"))
    monkeypatch.setattr(applying, "AUDIT_LOG", str(tmp_path / "log" / "audit.log"))
    monkeypatch.setattr(applying.door, "_own", lambda path, owner: None)
    return tmp_path / "log" / "audit.log"


def carry_out(*steps: Step) -> list[dict[str, object]]:
    return applying.apply(Plan(steps), verb="cache", operator="ada", progress=lambda *_, **__: None)


def test_without_a_digest_nothing_is_applied() -> None:
    assert not applying.confirmed({"apply": None}, Plan(), "gpu-0")


def test_the_digest_that_was_shown_is_applied() -> None:
    plan = Plan((Step.run(("true",), "nothing"),))
    assert applying.confirmed({"apply": plan.digest}, plan, "gpu-0")


def test_another_plan_than_the_one_shown_is_refused() -> None:
    with pytest.raises(OperationError, match="changed since the plan was shown"):
        applying.confirmed({"apply": "0123456789abcdef"}, Plan(), "gpu-0")


def test_steps_run_in_order_and_each_is_noted(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "a" / "b"
    done = carry_out(Step.folder(str(file.parent), "folder"), Step.write(str(file), "text", "file"),
                     Step.run(("cat", str(file)), "read"))  # fmt: skip
    assert [step["rc"] for step in done] == [0, 0, 0] and file.read_text() == "text"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["operator"], line["verb"], line["why"]) for line in lines] == [
        ("ada", "cache", "folder"), ("ada", "cache", "file"), ("ada", "cache", "read"),
    ]  # fmt: skip


def test_the_first_failure_ends_it_and_says_what_was_done(log: Path, tmp_path: Path) -> None:
    with pytest.raises(OperationError, match="step 2 of 3 failed") as failed:
        carry_out(Step.run(("true",), "first"), Step.run(("false",), "second"),
                  Step.write(str(tmp_path / "never"), "", "third"))  # fmt: skip
    assert "1 steps are done" in failed.value.hint and not (tmp_path / "never").exists()
    assert [json.loads(line)["rc"] for line in log.read_text().splitlines()] == [0, 1]


def test_a_file_that_cannot_be_written_is_a_failed_step(log: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OperationError, match="step 1 of 1 failed"):
        carry_out(Step.write(str(tmp_path / "file" / "below"), "", "below a file"))
