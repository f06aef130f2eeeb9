"""IMDS: who is known by address, which identity is meant, and the refusals the SDKs rely on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from sandbox.identity.imds import make_app
from sandbox.identity.tokens import Claims, Tokens
from tests.doors.sandbox.small_cloud import IDENTITY, SmallCloud, small_cloud

NOW = 1_800_000_000.0
GPU, INGEST = "10.0.1.4", "10.0.2.4"
TRAIN_CLIENT, INGEST_CLIENT = (
    "cccccccc-0000-0000-0000-000000000001",
    "cccccccc-0000-0000-0000-000000000002",
)
TOKEN = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens.open(tmp_path_factory.mktemp("keys") / "signing.pem")


def ask(
    tokens: Tokens,
    path: str,
    address: str,
    headers: dict[str, str] | None = None,
    cloud: SmallCloud | None = None,
) -> tuple[int, Any]:
    """Return (status, body) of one request that came from `address`."""

    async def run() -> tuple[int, Any]:
        app = make_app(
            cloud or small_cloud(),
            tokens,
            clock=lambda: NOW,
            caller=lambda request: address,
        )
        async with TestClient(TestServer(app)) as client:
            response = await client.get(path, headers={"Metadata": "true"} if headers is None else headers)
            return (
                response.status,
                await response.json() if response.content_type == "application/json" else await response.text(),
            )

    return asyncio.run(run())


def test_a_vm_with_one_identity_gets_its_token_without_naming_it(
    tokens: Tokens,
) -> None:
    status, body = ask(tokens, TOKEN, GPU)
    assert status == 200 and body["client_id"] == TRAIN_CLIENT and body["token_type"] == "Bearer"
    assert body["expires_on"] == str(int(NOW) + 86_400) and body["resource"] == "https://storage.azure.com"
    claims = tokens.verify(body["access_token"], NOW)
    assert isinstance(claims, Claims) and claims.principal_id == "aaaaaaaa-0000-0000-0000-000000000001"


def test_several_identities_without_a_selector_are_refused(tokens: Tokens) -> None:
    status, body = ask(tokens, TOKEN, INGEST)
    assert status == 400 and body["error_description"].startswith("Multiple user assigned identities exist")


@pytest.mark.parametrize(
    "selector",
    [
        f"client_id={INGEST_CLIENT}",
        "object_id=aaaaaaaa-0000-0000-0000-000000000002",
        f"mi_res_id={IDENTITY}/ingest",
        f"msi_res_id={IDENTITY.upper()}/INGEST",
    ],
)
def test_an_identity_is_chosen_by_client_object_or_resource_id(tokens: Tokens, selector: str) -> None:
    status, body = ask(tokens, f"{TOKEN}&{selector}", INGEST)
    assert status == 200 and body["client_id"] == INGEST_CLIENT


def test_an_identity_that_is_not_attached_to_the_caller_is_not_found(
    tokens: Tokens,
) -> None:
    status, body = ask(tokens, f"{TOKEN}&client_id={INGEST_CLIENT}", GPU)
    assert (status, body) == (
        400,
        {"error": "invalid_request", "error_description": "Identity not found"},
    )


def test_a_deleted_identity_gives_no_token_though_the_vm_still_names_it(
    tokens: Tokens,
) -> None:
    cloud = small_cloud()
    cloud.delete(f"{IDENTITY}/train")
    assert ask(tokens, TOKEN, GPU, cloud=cloud)[0] == 400


@pytest.mark.parametrize(
    "headers",
    [{}, {"Metadata": "false"}, {"Metadata": "true", "X-Forwarded-For": "10.0.1.4"}],
)
def test_a_request_without_the_metadata_header_or_with_a_proxy_is_refused(
    tokens: Tokens, headers: dict[str, str]
) -> None:
    status, body = ask(tokens, TOKEN, GPU, headers)
    assert status == 400 and "access_token" not in body


@pytest.mark.parametrize(
    "path",
    [
        TOKEN.replace("2018-02-01", "2011-01-01"),
        TOKEN.replace("&resource=", "&other="),
        f"{TOKEN}&client_id={TRAIN_CLIENT}&mi_res_id=x",
    ],
)
def test_a_wrong_version_no_resource_or_two_selectors_are_refused(tokens: Tokens, path: str) -> None:
    assert ask(tokens, path, GPU)[0] == 400


def test_an_unknown_address_gets_no_token_and_the_message_names_it(
    tokens: Tokens,
) -> None:
    status, body = ask(tokens, TOKEN, "10.9.9.9")
    assert status == 400 and "10.9.9.9" in body["error_description"]


def test_a_system_assigned_identity_is_the_default(tokens: Tokens) -> None:
    cloud = small_cloud()
    vm = next(r for r in cloud.list() if r["name"] == "ingest-0")
    vm["identity"] |= {
        "type": "SystemAssigned, UserAssigned",
        "principalId": "system",
        "tenantId": "t",
    }
    claims = tokens.verify(ask(tokens, TOKEN, INGEST, cloud=cloud)[1]["access_token"], NOW)
    assert isinstance(claims, Claims) and claims.principal_id == "system"


def test_the_instance_document_says_what_the_vm_is(tokens: Tokens) -> None:
    status, body = ask(tokens, "/metadata/instance?api-version=2021-02-01", GPU)
    compute, interface = body["compute"], body["network"]["interface"][0]
    assert status == 200 and compute["name"] == "gpu-0" and compute["vmSize"] == "Standard_ND96isr_H100_v5"
    assert (
        compute["tags"] == "owner:ml;role:train"
        and compute["resourceGroupName"] == "rg-app"
        and len(compute["vmId"]) == 36
    )
    assert interface["ipv4"] == {
        "ipAddress": [{"privateIpAddress": GPU, "publicIpAddress": ""}],
        "subnet": [{"address": "10.0.1.0", "prefix": "24"}],
    }


def test_one_leaf_of_the_instance_document_comes_as_text(tokens: Tokens) -> None:
    path = "/metadata/instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress?api-version=2021-02-01&format=text"
    assert ask(tokens, path, GPU) == (200, GPU)
    assert ask(tokens, "/metadata/instance/compute/nothing?api-version=2021-02-01", GPU)[0] == 404


def test_the_vm_id_stays_the_same_for_the_same_vm(tokens: Tokens, tmp_path: Path) -> None:
    ids = {
        ask(
            tokens,
            "/metadata/instance/compute/vmId?api-version=2021-02-01&format=text",
            GPU,
        )[1]
        for _ in range(2)
    }
    assert len(ids) == 1 and ids != {
        ask(
            tokens,
            "/metadata/instance/compute/vmId?api-version=2021-02-01&format=text",
            INGEST,
        )[1]
    }
