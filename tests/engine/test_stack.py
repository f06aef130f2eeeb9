"""The program under the real engine: it makes what it says, changes nothing twice, and is judged by the pack."""

import json

import httpx
import pytest

from feedline.contract import Contract
from tests.engine.conftest import CHECKOUT, Engine

pytestmark = pytest.mark.timeout(180)
STACK = ("--stack", "sandbox")
RG = "/subscriptions/00000000-0000-0000-0000-0000feed11e0/resourceGroups/rg-feedline-sandbox"


@pytest.fixture(scope="module")
def up(engine: Engine) -> Engine:
    """The sandbox's stack, made once."""
    engine.pulumi("stack", "init", "sandbox")
    engine.pulumi("up", *STACK, "--yes", "--skip-preview")
    return engine


def arm(engine: Engine, method: str, rid: str, body: object = None) -> httpx.Response:
    with httpx.Client(transport=httpx.HTTPTransport(uds=engine.environment["FEEDLINE_ARM_SOCKET"])) as client:
        return client.request(method, f"http://arm{rid}", params={"api-version": "2024-11-01"}, json=body)


def state(engine: Engine) -> list[dict]:
    return json.loads(engine.pulumi("stack", "export", *STACK))["deployment"]["resources"]


def test_the_stacks_file_is_left_as_it_is_committed(up: Engine) -> None:
    # `stack init` would append a salt of its own if the committed one did not fit the public passphrase.
    assert (CHECKOUT / "Pulumi.sandbox.yaml").read_text().count("encryptionsalt:") == 1


def test_no_resource_drags_the_types_of_old_api_versions_along(up: Engine) -> None:
    assert [r["urn"] for r in state(up) if r.get("aliases")] == []


def test_the_contract_is_one_that_the_runbook_reads(up: Engine) -> None:
    contract = Contract.loads(up.pulumi("stack", "output", "contract", "--json", *STACK))
    assert [n.name for n in contract.nodes] == ["gpu-0", "gpu-1", "ingest-0"] and all(n.vm_id for n in contract.nodes)
    assert contract.is_sandbox and contract.ssh.command == "true %h %p"


def test_a_second_up_and_a_refresh_change_nothing(up: Engine) -> None:
    up.pulumi("up", *STACK, "--yes", "--skip-preview", "--expect-no-changes")
    up.pulumi("refresh", *STACK, "--yes", "--expect-no-changes")


def test_what_somebody_changed_by_hand_is_seen_and_put_back(up: Engine) -> None:
    rid = f"{RG}-lake/providers/Microsoft.Storage/storageAccounts/feedlinesandbox"
    body = arm(up, "GET", rid).json()
    body["properties"]["allowSharedKeyAccess"] = True
    assert arm(up, "PUT", rid, body).status_code == 200
    said = up.pulumi("up", *STACK, "--yes", "--skip-preview", "--refresh", "--diff")
    assert "allowSharedKeyAccess" in said
    assert arm(up, "GET", rid).json()["properties"]["allowSharedKeyAccess"] is False


def test_nothing_is_protected_in_the_sandbox(up: Engine) -> None:
    assert not [r["urn"] for r in state(up) if r.get("protect")]


def test_without_a_controller_the_message_says_what_to_start(up: Engine) -> None:
    said = up.pulumi("refresh", *STACK, "--yes", code=None, FEEDLINE_ARM_SOCKET="/tmp/no-such.sock")
    assert "the sandbox is not running: start it with ./run shell" in said


def test_the_cluster_can_be_destroyed_in_the_sandbox(up: Engine) -> None:
    up.pulumi("destroy", *STACK, "--yes")
    assert arm(up, "GET", RG).status_code == 404
