"""Settings that cannot work end it with every problem, and nothing is made."""

import pytest
import yaml

from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", autouse=True)
def _stacks(engine: Engine) -> None:
    for stack in ("sandbox", "dev", "prod"):
        engine.pulumi("stack", "init", stack)


def config(engine: Engine, stack: str, *pairs: str) -> tuple[str, ...]:
    """Flags for a copy of the stack's configuration with these changes (`nodes.count=3`); the committed file stays."""
    settings = yaml.safe_load((CHECKOUT / f"Pulumi.{stack}.yaml").read_text())
    for pair in pairs:
        (section, key), value = pair.split("=")[0].split("."), pair.split("=", 1)[1]
        settings["config"].setdefault(f"feedline:{section}", {})[key] = yaml.safe_load(value)
    file = engine.folder / f"Pulumi.{stack}.yaml"
    file.write_text(yaml.safe_dump(settings))
    return "--stack", stack, "--config-file", str(file)


def test_five_mistakes_are_all_told_and_nothing_is_made(engine: Engine) -> None:
    bad = (
        "nodes.count=-1",
        "nodes.size=Standard_ND9",
        "network.cidr=10.0.0.0/30",
        "lake.acount=x",
        "feed.mode=fast",
    )
    said = engine.pulumi("preview", *config(engine, "dev", *bad), code=None)
    assert "5 problems, nothing was changed" in said
    for path in ("nodes.count", "nodes.size", "network.cidr", "lake.acount", "feed.mode"):
        assert f"feedline:{path}" in said


def test_a_cluster_that_would_starve_is_refused_until_somebody_says_why(engine: Engine) -> None:
    starving = ("feed.profile=unet3d",)
    assert "cannot be fed" in engine.pulumi("preview", *config(engine, "prod", *starving), code=None)
    reason = "feed.starving_is_accepted_because=a test of the scheduler"
    assert "to create" in engine.pulumi("preview", *config(engine, "prod", *starving, reason))
