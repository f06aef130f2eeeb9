"""What each environment sends, resource by resource, in the wire's own names: a change here is a change in Azure.

After a change on purpose: FEEDLINE_WRITE_WIRE=1 ./run tests doors -k wire, and read the difference before committing.
"""

import json
import os
from typing import Any

import pytest

from scripts.places import CHECKOUT
from tests.doors.infra.conftest import Declare

pytestmark = pytest.mark.timeout(120)
FOLDER = CHECKOUT / "tests" / "fixtures" / "wire"


def plain(value: Any, key: str = "") -> Any:
    """In a fixed order, and without the text of customData, which has tests of its own."""
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in sorted(value.items())}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return "(customData)" if key == "customData" else value


@pytest.mark.parametrize("stack", ["dev", "staging", "prod", "norway"])
def test_an_environment_sends_exactly_what_was_agreed(declared: Declare, stack: str) -> None:
    noted, file = declared(stack=stack), FOLDER / f"{stack}.json"
    found = {
        name: {"type": noted.types[name], "inputs": plain(inputs)}
        for name, inputs in sorted(noted.resources.items())
        if noted.types[name].startswith("azure-native:")
    }
    if os.environ.get("FEEDLINE_WRITE_WIRE"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n")
    agreed = json.loads(file.read_text())
    assert list(found) == list(agreed)
    for name in found:
        assert found[name] == agreed[name], name


@pytest.mark.parametrize("stack", ["dev", "staging", "prod", "norway"])
def test_an_environment_tells_its_feed_plan_for_today_and_for_ten_times_the_data(declared: Declare, stack: str) -> None:
    said = "\n".join(declared(stack=stack).said)
    assert "feed plan: " in said and "feed plan at 10x: " in said and "ingest: " in said
