"""The authorizer: Azure's order of checks, Azure's codes, and each operation held to its own RBAC action."""

import asyncio
from typing import Any
from xml.etree import ElementTree

import pytest
from aiohttp.test_utils import TestClient, TestServer

from sandbox.gateway.authorizer import make_app, respond
from sandbox.gateway.decision import Allow, Answer, Request, decide
from sandbox.gateway.endpoints import Facts
from sandbox.identity.tokens import Identity, Tokens
from tests.doors.sandbox.small_cloud import ACCOUNT, IDENTITY, NET, SmallCloud, small_cloud

NOW = 1_800_000_000.0
HOST, PRIVATE, PUBLIC = "lake01.blob.core.windows.net", "10.0.3.4", "203.0.113.10"
DATA = f"{ACCOUNT}/blobServices/default/containers/training-data"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens.open(tmp_path_factory.mktemp("keys") / "signing.pem")


def bearer(tokens: Tokens, cloud: SmallCloud, name: str, **kwargs: Any) -> str:
    resource = cloud.get(f"{IDENTITY}/{name}")
    assert resource is not None
    return "Bearer " + tokens.mint(
        Identity.of(resource),
        kwargs.pop("resource", "https://storage.azure.com"),
        NOW,
        **kwargs,
    )


def judge(
    tokens: Tokens,
    method: str,
    uri: str,
    who: str = "train",
    cloud: SmallCloud | None = None,
    **fields: Any,
) -> Allow | Answer:
    cloud = cloud or small_cloud()
    authorization = fields.pop("authorization", None)
    request = {
        "method": method,
        "host": HOST,
        "uri": uri,
        "client": "10.0.1.4",
        "server": PRIVATE,
        "authorization": bearer(tokens, cloud, who) if authorization is None else authorization,
        **fields,
    }
    return decide(cloud, Facts.of(cloud), tokens, Request(**request), NOW)


def code(answer: Allow | Answer) -> str:
    return "allowed" if isinstance(answer, Allow) else f"{answer.status} {answer.code}"


READS = [
    ("GET", "/training-data/a"),
    ("HEAD", "/training-data/a"),
    ("GET", "/training-data/a?comp=metadata"),
    ("GET", "/training-data?restype=container&comp=list"),
    ("GET", "/training-data/a?comp=blocklist"),
    ("GET", "/training-data?restype=container"),
    ("HEAD", "/training-data?restype=container&comp=metadata"),
]
WRITES = [
    ("PUT", "/training-data/a"),
    ("PUT", "/training-data/a?comp=block&blockid=AA%3D%3D"),
    ("PUT", "/training-data/a?comp=blocklist"),
    ("PUT", "/training-data/a?comp=metadata"),
    ("PUT", "/training-data/a?comp=properties"),
    ("DELETE", "/training-data/a"),
    ("PUT", "/training-data/a?comp=appendblock"),
    ("PUT", "/training-data/a?comp=lease"),
    ("PUT", "/training-data/a?comp=tier"),
    ("PUT", "/training-data?restype=container"),
    ("DELETE", "/training-data?restype=container"),
    ("PUT", "/training-data?restype=container&comp=metadata"),
]


@pytest.mark.parametrize(("method", "uri"), READS)
def test_a_reader_reads_its_container(tokens: Tokens, method: str, uri: str) -> None:
    assert judge(tokens, method, uri) == Allow("lake01")


@pytest.mark.parametrize(("method", "uri"), WRITES)
def test_a_reader_is_refused_when_it_writes(tokens: Tokens, method: str, uri: str) -> None:
    assert code(judge(tokens, method, uri)) == "403 AuthorizationPermissionMismatch"


@pytest.mark.parametrize(("method", "uri"), READS + WRITES)
def test_a_contributor_of_the_account_reads_and_writes_every_container(tokens: Tokens, method: str, uri: str) -> None:
    assert judge(tokens, method, uri, "ingest") == Allow("lake01")


@pytest.mark.parametrize(("method", "uri"), [(m, u.replace("training-data", "raw")) for m, u in READS])
def test_a_role_on_one_container_says_nothing_about_another(tokens: Tokens, method: str, uri: str) -> None:
    assert code(judge(tokens, method, uri)) == "403 AuthorizationPermissionMismatch"


def test_a_container_nobody_made_is_for_the_store_to_miss_but_only_after_permission(
    tokens: Tokens,
) -> None:
    assert judge(tokens, "GET", "/no-such/a", "ingest") == Allow("lake01")
    assert code(judge(tokens, "GET", "/no-such/a", "train")) == "403 AuthorizationPermissionMismatch"


def test_listing_containers_needs_a_role_on_the_account(tokens: Tokens) -> None:
    assert judge(tokens, "GET", "/?comp=list", "ingest") == Allow("lake01")
    assert code(judge(tokens, "GET", "/?comp=list", "train")) == "403 AuthorizationPermissionMismatch"


def test_a_data_action_is_not_bought_with_a_control_action(tokens: Tokens) -> None:
    cloud = small_cloud()
    cloud.grants = [("aaaaaaaa-0000-0000-0000-000000000001", ACCOUNT.lower(), ["*"], [])]
    assert code(judge(tokens, "GET", "/training-data/a", cloud=cloud)) == "403 AuthorizationPermissionMismatch"
    assert judge(tokens, "GET", "/training-data?restype=container", cloud=cloud) == Allow("lake01")


def test_a_user_delegation_key_needs_its_own_action(tokens: Tokens) -> None:
    cloud = small_cloud()
    uri = "/?restype=service&comp=userdelegationkey"
    assert code(judge(tokens, "POST", uri, "ingest", cloud)) == "403 AuthorizationPermissionMismatch"
    cloud.grant(
        "aaaaaaaa-0000-0000-0000-000000000002",
        ACCOUNT,
        ["Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action"],
        [],
    )
    assert judge(tokens, "POST", uri, "ingest", cloud) == Allow("lake01")


def test_a_copy_reads_its_source_and_writes_its_destination(tokens: Tokens) -> None:
    source = f"https://{HOST}/raw/a"
    assert judge(tokens, "PUT", "/training-data/b", "ingest", copy_source=source) == Allow("lake01")
    cloud = small_cloud()
    blob = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
    cloud.grant("aaaaaaaa-0000-0000-0000-000000000001", DATA, [], [f"{blob}/write"])
    assert judge(tokens, "PUT", "/training-data/b", cloud=cloud) == Allow("lake01")
    assert (
        code(judge(tokens, "PUT", "/training-data/b", cloud=cloud, copy_source=source))
        == "403 AuthorizationPermissionMismatch"
    )
    assert (
        code(
            judge(
                tokens,
                "PUT",
                "/training-data/b?comp=block&blockid=AA",
                cloud=cloud,
                copy_source=source,
            )
        )
        == "403 AuthorizationPermissionMismatch"
    )


def test_the_public_address_is_refused_before_anything_else_when_public_access_is_off(
    tokens: Tokens,
) -> None:
    assert code(judge(tokens, "GET", "/training-data/a", server=PUBLIC)) == "403 AuthorizationFailure"
    assert code(judge(tokens, "GET", "/training-data/a", server=PUBLIC, authorization="")) == "403 AuthorizationFailure"


def test_the_public_address_serves_an_account_that_is_open_to_it(
    tokens: Tokens,
) -> None:
    cloud = small_cloud()
    account = cloud.get(ACCOUNT)
    assert account is not None
    account["properties"] |= {"publicNetworkAccess": "Enabled"}
    assert judge(tokens, "GET", "/training-data/a", cloud=cloud, server=PUBLIC) == Allow("lake01")
    account["properties"]["networkAcls"] = {"defaultAction": "Deny"}
    assert code(judge(tokens, "GET", "/training-data/a", cloud=cloud, server=PUBLIC)) == "403 AuthorizationFailure"


@pytest.mark.parametrize("server", ["10.0.3.5", "10.0.1.1"])
def test_an_address_that_is_not_the_accounts_blob_endpoint_is_refused(tokens: Tokens, server: str) -> None:
    assert code(judge(tokens, "GET", "/training-data/a", server=server)) == "403 AuthorizationFailure"


def test_a_deleted_endpoint_lets_nobody_in(tokens: Tokens) -> None:
    cloud = small_cloud()
    cloud.delete(f"{NET}/privateEndpoints/lake01-blob")
    assert code(judge(tokens, "GET", "/training-data/a", cloud=cloud)) == "403 AuthorizationFailure"


@pytest.mark.parametrize(
    ("authorization", "uri"),
    [
        ("SharedKey lake01:c2ln", "/training-data/a"),
        ("SharedKeyLite lake01:c2ln", "/raw/a"),
        ("", "/training-data/a?sv=2021-12-02&sig=abc"),
        ("Bearer x", "/raw/a?SIG=abc"),
    ],
)
def test_keys_and_sas_are_refused_where_shared_key_access_is_off(tokens: Tokens, authorization: str, uri: str) -> None:
    assert code(judge(tokens, "GET", uri, authorization=authorization)) == "403 KeyBasedAuthenticationNotPermitted"


def test_a_key_the_sandbox_cannot_verify_is_refused_even_where_keys_are_allowed(
    tokens: Tokens,
) -> None:
    cloud = small_cloud()
    account = cloud.get(ACCOUNT)
    assert account is not None
    del account["properties"]["allowSharedKeyAccess"]
    assert (
        code(
            judge(
                tokens,
                "GET",
                "/raw/a",
                cloud=cloud,
                authorization="SharedKey lake01:c2ln",
            )
        )
        == "403 AuthenticationFailed"
    )


def test_no_credential_is_told_apart_from_a_bad_one(tokens: Tokens) -> None:
    cloud = small_cloud()
    expired = bearer(tokens, cloud, "train", life_s=-1)
    other = bearer(tokens, cloud, "train", resource="https://management.azure.com/")
    assert code(judge(tokens, "GET", "/training-data/a", authorization="")) == "401 NoAuthenticationInformation"
    for authorization in (expired, other, "Bearer x", "Basic dTpw"):
        answer = judge(tokens, "GET", "/training-data/a", authorization=authorization)
        assert code(answer) == "401 InvalidAuthenticationInfo"
        assert (
            isinstance(answer, Answer)
            and answer.detail
            and dict(answer.headers)["WWW-Authenticate"].startswith("Bearer ")
        )


@pytest.mark.parametrize(
    ("method", "uri", "wanted"),
    [
        ("GET", "/training-data/../raw/a", "400 InvalidUri"),
        ("GET", "/training-data/%2e%2e/raw/a", "400 InvalidUri"),
        ("GET", "/training-data%2f..%2fraw/a", "400 InvalidUri"),
        ("GET", "//raw/a", "400 InvalidUri"),
        (
            "GET",
            "/training-data/a?comp=metadata&comp=list",
            "400 InvalidQueryParameterValue",
        ),
        ("GET", "/training-data/a?comp=surprise", "400 InvalidQueryParameterValue"),
        ("PATCH", "/training-data/a", "400 InvalidQueryParameterValue"),
        ("POST", "/training-data?restype=container&comp=batch", "501 NotImplemented"),
    ],
)
def test_a_request_that_is_not_understood_is_never_let_through(
    tokens: Tokens, method: str, uri: str, wanted: str
) -> None:
    assert code(judge(tokens, method, uri, "ingest")) == wanted


def test_an_account_that_does_not_exist_is_not_found(tokens: Tokens) -> None:
    assert code(judge(tokens, "GET", "/training-data/a", host="nobody.blob.core.windows.net")) == "404 ResourceNotFound"


def test_account_information_tells_hns_from_the_account_and_needs_its_action(
    tokens: Tokens,
) -> None:
    cloud = small_cloud()
    uri = "/training-data?restype=account&comp=properties"
    assert code(judge(tokens, "GET", uri, cloud=cloud)) == "403 AuthorizationPermissionMismatch"
    cloud.grant(
        "aaaaaaaa-0000-0000-0000-000000000001",
        ACCOUNT,
        ["Microsoft.Storage/storageAccounts/blobServices/getInfo/action"],
        [],
    )
    answer = judge(tokens, "HEAD", uri, cloud=cloud)
    assert isinstance(answer, Answer) and answer.status == 200 and dict(answer.headers)["x-ms-is-hns-enabled"] == "true"


class Store:
    """A backend that answers, or does not start."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken

    async def backend(self, account: str) -> tuple[str, str]:
        if self.broken:
            raise RuntimeError("node is not installed")
        return "127.0.0.1:10000", "sv=1&sig=secret"


def round_trip(
    tokens: Tokens, store: Store, headers: dict[str, str]
) -> tuple[int, dict[str, str], int, str, dict[str, str]]:
    """Do what nginx does: ask, and on a no fetch the answer; return both responses."""

    async def run() -> tuple[int, dict[str, str], int, str, dict[str, str]]:
        cloud = small_cloud()
        sent = {
            "X-Sandbox-Method": "GET",
            "X-Sandbox-Host": HOST,
            "X-Sandbox-Server": PRIVATE,
            "X-Sandbox-Client": "10.0.1.4",
            "Authorization": bearer(tokens, cloud, "train"),
            **headers,
        }
        async with TestClient(TestServer(make_app(cloud, tokens, store, clock=lambda: NOW))) as client:
            asked = await client.get("/authorize", headers=sent)
            shown = await client.get(
                "/answer",
                headers={
                    "X-Sandbox-Answer": asked.headers.get("X-Sandbox-Answer", ""),
                    "X-Sandbox-Method": "GET",
                },
            )
            return (
                asked.status,
                dict(asked.headers),
                shown.status,
                await shown.text(),
                dict(shown.headers),
            )

    return asyncio.run(run())


def test_a_yes_carries_the_backend_and_its_signature(tokens: Tokens) -> None:
    status, headers, *_ = round_trip(tokens, Store(), {"X-Sandbox-Uri": "/training-data/a"})
    assert (status, headers["X-Sandbox-Backend"], headers["X-Sandbox-Sas"]) == (
        204,
        "127.0.0.1:10000",
        "sv=1&sig=secret",
    )


def test_a_no_becomes_azures_xml_with_its_code_and_a_request_id(tokens: Tokens) -> None:
    status, headers, shown, body, answer = round_trip(tokens, Store(), {"X-Sandbox-Uri": "/raw/a"})
    assert status == 403 and "X-Sandbox-Sas" not in headers and shown == 403
    assert answer["x-ms-error-code"] == "AuthorizationPermissionMismatch" and len(answer["x-ms-request-id"]) == 36
    assert ElementTree.fromstring(body).findtext("Code") == "AuthorizationPermissionMismatch"


def test_a_store_that_does_not_start_is_a_503_that_says_why(tokens: Tokens) -> None:
    status, _, shown, body, _ = round_trip(tokens, Store(broken=True), {"X-Sandbox-Uri": "/training-data/a"})
    assert (status, shown) == (403, 503) and "node is not installed" in body


def test_a_head_request_is_refused_without_a_body_and_an_unreadable_answer_is_no_pass() -> None:
    refusal = respond(Answer(403, "AuthorizationFailure", "no"), "HEAD")
    assert refusal.headers["x-ms-error-code"] == "AuthorizationFailure" and not refusal.body
    assert respond(Answer.unpacked("garbage"), "GET").status == 500


def test_a_change_of_the_cloud_counts_from_the_next_request_on(tokens: Tokens) -> None:
    async def run() -> list[int]:
        cloud = small_cloud()
        sent = {
            "X-Sandbox-Method": "GET",
            "X-Sandbox-Host": HOST,
            "X-Sandbox-Server": PRIVATE,
            "X-Sandbox-Uri": "/training-data/a",
            "Authorization": bearer(tokens, cloud, "train"),
        }
        async with TestClient(TestServer(make_app(cloud, tokens, Store(), clock=lambda: NOW))) as client:
            statuses = [(await client.get("/authorize", headers=sent)).status]
            endpoint = cloud.get(f"{NET}/privateEndpoints/lake01-blob")
            cloud.delete(f"{NET}/privateEndpoints/lake01-blob")
            statuses.append((await client.get("/authorize", headers=sent)).status)
            assert endpoint is not None
            cloud.put(endpoint["id"], endpoint)
            return [*statuses, (await client.get("/authorize", headers=sent)).status]

    assert asyncio.run(run()) == [204, 403, 204]
