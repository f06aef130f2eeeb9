"""The pipelines' own preview command against the simulated Azure."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(120)


def preview(engine: Engine, stack: str, file: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "scripts.preview", stack, "--summary", str(file), *flags]
    return subprocess.run(
        argv, cwd=CHECKOUT, env=engine.environment, capture_output=True, text=True, timeout=110, check=False
    )


def test_the_page_tells_the_feed_plan_and_every_resource(engine: Engine) -> None:
    engine.pulumi("stack", "init", "staging")
    file = engine.folder / "page.md"
    done = preview(engine, "staging", file)
    assert done.returncode == 0, done.stderr
    page = file.read_text()
    assert page.startswith("## staging: succeeded") and "feed plan at 10x" in page
    assert "| `+` | storage:StorageAccount | lake-account |" in page and "### Policies that refuse" not in page


def test_a_stack_that_does_not_exist_is_one_message(engine: Engine) -> None:
    done = preview(engine, "nowhere", engine.folder / "none.md")
    assert done.returncode == 1 and "before it previewed anything" in done.stderr
