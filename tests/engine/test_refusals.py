"""What Azure refuses on a bad day reaches the person at `pulumi up`, and the next `up` goes on where it stopped."""

import json
from typing import Any

import pytest

from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(120)
PROJECT = CHECKOUT / "tests" / "engine" / "programs" / "two_vms"
H100, FAMILY = "Standard_ND96isr_H100_v5", "standardNDSH100v5Family"


@pytest.fixture(scope="module")
def two(engine: Engine) -> Engine:
    engine.pulumi("stack", "init", "two", cwd=PROJECT)
    return engine


def given(engine: Engine, **facts: Any) -> None:
    """Say what the subscription may have from now on."""
    (engine.folder / "subscription.json").write_text(json.dumps(facts))


def up(engine: Engine, code: int | None = 0) -> str:
    return engine.pulumi("up", "--stack", "two", "--yes", "--skip-preview", cwd=PROJECT, code=code)


def test_without_rights_nothing_is_made_and_the_missing_right_is_named(two: Engine) -> None:
    given(two, reader=True)
    said = up(two, code=None)
    assert "AuthorizationFailed" in said and "does not have authorization to perform action" in said


def test_more_cores_than_the_quota_are_refused_with_the_arithmetic(two: Engine) -> None:
    given(two, cores={FAMILY: 0})
    said = up(two, code=None)
    assert "OperationNotAllowed" in said and "Current Limit: 0" in said and "Additional Required: 96" in said


def test_a_region_that_runs_out_after_one_is_filled_by_the_next_up(two: Engine) -> None:
    given(two, left={H100: 1})
    assert "OverconstrainedAllocationRequest" in up(two, code=None)
    given(two)
    said = up(two)
    assert "~ 1 updated" in said and "8 unchanged" in said  # the one that failed is finished, the rest is left alone
    two.pulumi("destroy", "--stack", "two", "--yes", "--skip-preview", cwd=PROJECT)


def test_writes_that_azure_serialises_are_waited_for(two: Engine) -> None:
    given(two, network_s=0.3)
    assert "created" in up(two)
