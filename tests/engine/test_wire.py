"""What each environment sends, resource by resource, in the wire's own names: a change here is a change in Azure.

After a change on purpose: FEEDLINE_WRITE_WIRE=1 ./run tests engine -k wire, and read the difference before committing.
"""

import json
import os
from typing import Any

import pytest

from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(180)
FOLDER = CHECKOUT / "tests" / "fixtures" / "wire"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def previewed(engine: Engine, stack: str) -> dict[str, Any]:
    """What a preview under the policy pack says."""
    engine.pulumi("stack", "init", stack)
    said = engine.pulumi("preview", "--stack", stack, "--policy-pack", "policies", "--json")
    found: dict[str, Any] = json.loads(said[said.index("{") :])
    return found


def sent(preview: dict[str, Any]) -> dict[str, Any]:
    """Every resource of a preview by its logical name: type, inputs, and how it is protected."""
    found = {}
    for step in preview["steps"]:
        state = step["newState"]
        if state["type"].startswith("azure-native:"):
            kept = [word for word in ("protect", "retainOnDelete") if state.get(word)]
            found[state["urn"].rsplit("::", 1)[1]] = {
                "type": state["type"],
                **({"kept": kept} if kept else {}),
                "inputs": plain(state["inputs"]),
            }
    return dict(sorted(found.items()))


def plain(value: Any, key: str = "") -> Any:
    """Without what is not known in a preview and without the text of customData, which has tests of its own."""
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in sorted(value.items()) if not k.startswith("__")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value == UNKNOWN:
        return "known after up"
    return "(customData)" if key == "customData" else value


@pytest.mark.parametrize("stack", ["dev", "staging", "prod", "norway"])
def test_an_environment_previews_under_the_pack_and_sends_exactly_what_was_agreed(engine: Engine, stack: str) -> None:
    preview = previewed(engine, stack)
    told = "\n".join(d["message"] for d in preview["diagnostics"])
    assert "feed plan: " in told and "feed plan at 10x: " in told and "[mandatory]" not in told
    found, file = sent(preview), FOLDER / f"{stack}.json"
    if os.environ.get("FEEDLINE_WRITE_WIRE"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n")
    agreed = json.loads(file.read_text())
    assert list(found) == list(agreed)
    for name in found:
        assert found[name] == agreed[name], name
