"""The bootstrap under the real engine: what it makes, what it grants, and that it makes no secret."""

import json

import pytest

from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(120)
PROJECT = CHECKOUT / "bootstrap"
STACK = ("--stack", "example")


@pytest.fixture(scope="module")
def up(engine: Engine) -> Engine:
    engine.pulumi("stack", "init", "example", cwd=PROJECT)
    engine.pulumi("up", *STACK, "--yes", "--skip-preview", cwd=PROJECT)
    return engine


def made(engine: Engine) -> dict[str, dict[str, object]]:
    found = json.loads(engine.pulumi("stack", "export", *STACK, cwd=PROJECT))["deployment"]["resources"]
    return {r["urn"].rsplit("::", 1)[1]: r for r in found if r["custom"]}


def test_a_pipeline_may_fill_its_own_groups_and_grant_data_roles_only(up: Engine) -> None:
    found = {name: r["inputs"] for name, r in made(up).items()}
    fill, grant = found["dev-fill-rg-feedline-dev"], found["dev-grant-rg-feedline-dev-lake"]
    assert fill["scope"].endswith("/resourceGroups/rg-feedline-dev") and "condition" not in fill
    assert grant["conditionVersion"] == "2.0" and "ForAnyOfAnyValues:GuidEquals {2a2b9908-" in grant["condition"]
    scopes = [str(inputs["scope"]) for inputs in found.values() if "roleDefinitionId" in inputs]
    assert all("/resourceGroups/" in scope for scope in scopes)


def test_a_pipeline_is_trusted_by_its_environment_and_holds_no_secret(up: Engine) -> None:
    resources = made(up)
    trust = resources["trust-github-prod"]["inputs"]
    assert trust["subject"] == "repo:acme/feedline:environment:prod" and trust["audiences"] == [
        "api://AzureADTokenExchange"
    ]
    text = json.dumps(resources)
    assert "listKeys" not in text and "connectionString" not in text and '"allowSharedKeyAccess": false' in text


def test_state_and_key_outlive_the_stack_and_a_second_up_changes_nothing(up: Engine) -> None:
    kept = {name for name, r in made(up).items() if r.get("protect")}
    assert {"state", "state-container", "vault", "key", "group-feedline-dev-lake"} <= kept
    up.pulumi("up", *STACK, "--yes", "--skip-preview", "--expect-no-changes", cwd=PROJECT)
    up.pulumi("destroy", *STACK, "--yes", "--skip-preview", cwd=PROJECT, code=None)
    assert {"state", "vault", "key"} <= set(made(up))


def test_what_pulumi_needs_next_is_an_output(up: Engine) -> None:
    outputs = json.loads(up.pulumi("stack", "output", "--json", *STACK, cwd=PROJECT))
    assert outputs["backend"] == "azblob://state?storage_account=feedlinestate01"
    assert outputs["secrets_provider"] == "azurekeyvault://kv-feedline-01.vault.azure.net/keys/pulumi"
    assert set(outputs["clients"]) == {"dev", "prod"}
