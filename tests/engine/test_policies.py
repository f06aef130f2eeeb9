"""The pack under the real engine: what it refuses, what it cannot say, exceptions, configuration, and stacks that exist
already."""

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.engine.conftest import CHECKOUT, Engine
from tests.engine.test_environments import config

pytestmark = pytest.mark.timeout(180)
VIOLATING = CHECKOUT / "policies" / "violating"
EXCEPTION = """[[exception]]
rule = "{rule}"
stack = "{stack}"
resource = "{resource}"
reason = "a test"
approved_by = "the tests"
expires = {expires}
"""


def violated(said: str, level: str = "mandatory") -> set[tuple[str, str]]:
    """Every (rule, resource) that the engine printed at this level."""
    return set(re.findall(rf"\[{level}\]  (\S+)  \(\S+: (\S+)\)", said))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the pack that a test may change."""
    shutil.copytree(CHECKOUT / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".venv", "feedline"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    return tmp_path / "policies"


@pytest.fixture(scope="module")
def violating(engine: Engine) -> Engine:
    engine.pulumi("stack", "init", "violating", cwd=VIOLATING)
    return engine


def preview(engine: Engine, pack: Path | str, *flags: str, code: int | None = None) -> str:
    return engine.pulumi(
        "preview", "--stack", "violating", "--policy-pack", str(pack), *flags, cwd=VIOLATING, code=code
    )


@pytest.fixture(scope="module")
def refusal(violating: Engine) -> str:
    """What a preview of the violating program says."""
    return preview(violating, "..")


def test_the_violating_program_is_refused_by_every_topic_with_resource_and_fix(refusal: str) -> None:
    said, found = refusal, violated(refusal)
    expected = {
        "flat": ("storage-hns", "storage-tls", "storage-private-network", "storage-firewall", "storage-no-shared-key")
        + ("storage-no-anonymous", "storage-keys-dated", "storage-both-endpoints", "storage-diagnostics"),
        "prune": ("storage-lifecycle-spares-checkpoints", "cost-cool-under-mount"),
        "cache": ("compute-no-hdd-disk",),
        "gpus": ("compute-no-flexible", "compute-uniform-set", "compute-no-zone", "compute-set-size")
        + ("compute-pinned-image", "compute-no-password", "compute-patched-on-purpose", "compute-managed-identity")
        + ("compute-no-hdd", "compute-manual-upgrade", "network-no-public-address"),
        "open": ("network-no-inbound", "network-known-sources"),
        "everything": ("identity-no-broad-role", "identity-no-subscription-scope", "identity-principal-type"),
        "deleter": ("identity-no-wildcard", "identity-append-only", "identity-assignable-here"),
        "feed": ("feed-not-starved", "feed-preload-fits", "feed-checkpoints-writable", "feed-own-cache"),
    }
    assert {(rule, name) for name, rules in expected.items() for rule in rules} - found == set()
    assert "Fix: is_hns_enabled=True, in a new account." in said and "flat: hierarchical namespace is off" in said
    assert {("cost-budget", "gpus"), ("cost-owner-tag", "flat")} <= violated(said, "advisory")


def test_what_is_not_known_in_preview_is_said_and_passes_neither_rule_nor_stack_rule(refusal: str) -> None:
    for rule, value in (("storage-https-only", "enableHttpsTrafficOnly"), ("storage-locked", "level")):
        assert re.search(rf"can't run policy '{rule}' from policy pack .* during preview: .* at \.{value} ", refusal)


def test_a_bug_in_a_rule_fails_the_run(violating: Engine, pack: Path) -> None:
    with (pack / "rules" / "storage.py").open("a") as module:
        module.write(
            '\n\n@rule("storage-buggy", ACCOUNT, "A.", "b", passes={}, fails={})\n'
            'def buggy(p: Properties) -> Iterator[str]:\n    yield p["no such property"]\n'
        )
    said = preview(violating, pack, "--policy-pack-config", str(advisory(pack)))
    assert "no such property" in said and "[mandatory]" not in said


def advisory(pack: Path) -> Path:
    """A configuration under which nothing is mandatory, so that only what a test is about can fail the run."""
    file = pack / "advisory.json"
    file.write_text('{"all": "advisory"}')
    return file


def test_configuration_sets_levels_and_parameters_and_the_engine_checks_its_types(
    violating: Engine, pack: Path
) -> None:
    said = preview(violating, "..", "--policy-pack-config", str(advisory(pack)), code=0)
    assert not violated(said) and ("storage-hns", "flat") in violated(said, "advisory")
    file = pack / "some.json"
    file.write_text('{"cost-budget": "mandatory", "compute-set-size": {"max_nodes": 300}, "storage-tls": "disabled"}')
    found = violated(preview(violating, "..", "--policy-pack-config", str(file)))
    assert ("cost-budget", "gpus") in found
    assert not {("compute-set-size", "gpus"), ("storage-tls", "flat")} & found
    file.write_text('{"compute-set-size": {"max_nodes": "many"}}')
    said = preview(violating, "..", "--policy-pack-config", str(file))
    assert "compute-set-size" in said and "max_nodes" in said and not violated(said)


def test_an_exception_suppresses_its_rule_until_it_expires_and_a_wrong_one_is_itself_a_violation(
    violating: Engine, pack: Path
) -> None:
    def excepted(rule: str, resource: str, expires: str) -> str:
        return EXCEPTION.format(rule=rule, stack="violating", resource=resource, expires=expires)

    (pack / "exceptions.toml").write_text(
        excepted("storage-hns", "flat", "2099-01-01")
        + excepted("storage-tls", "flat", "2026-01-01")
        + excepted("storage-firewall", "flat", soon())
        + excepted("no-such-rule", "flat", soon())
    )
    said = preview(violating, pack)
    found = violated(said)
    assert {("storage-hns", "flat"), ("storage-tls", "flat")} <= found and ("storage-firewall", "flat") not in found
    assert f"storage-firewall on flat is accepted until {soon()} by the tests: a test" in said
    for words in ("ends on 2099-01-01: too far ahead", "expired on 2026-01-01", "there is no rule 'no-such-rule'"):
        assert words in said
    assert "policy-exceptions" in {rule for rule, _ in found}


def soon() -> str:
    return str(datetime.now(tz=UTC).date() + timedelta(days=90))


def test_a_sovereign_environment_passes_under_its_own_configuration(engine: Engine) -> None:
    engine.pulumi("stack", "init", "norway")
    file = CHECKOUT / "policies" / "config" / "norway.json"
    flags = ("--stack", "norway", "--policy-pack", "policies", "--policy-pack-config", str(file))
    said = engine.pulumi("preview", *flags)
    assert "to create" in said and not violated(said)
    assert "can't run policy" not in said  # nothing is left for after the money is spent


def test_lustre_passes_where_it_is_excepted_and_only_there(engine: Engine, pack: Path) -> None:
    excepted = {
        "storage-no-shared-key": "hot-account",
        "identity-container-scope": "hot-storage-blob-data-contributor",
    }
    (pack / "exceptions.toml").write_text(
        "".join(EXCEPTION.format(rule=r, stack="staging", resource=n, expires=soon()) for r, n in excepted.items())
    )
    engine.pulumi("stack", "init", "staging")
    hot = ("hot_tier.kind=lustre", "hot_tier.account=hotstaging01", "hot_tier.tib=16")
    hot += ("hot_tier.provider_object_id=6f1d2c0e-0000-4000-8000-000000000002", "hot_tier.exception_reason=a test")
    flags = config(engine, "staging", *hot, f"hot_tier.exception_until='{soon()}'")
    said = engine.pulumi("preview", *flags, "--policy-pack", str(pack), code=None)
    assert ("identity-no-broad-role", "hot-storage-account-contributor") in violated(said)
    assert not set(excepted.items()) & violated(said) and said.count("is accepted until") == len(excepted)
