"""Tokens: what is minted verifies, and every way of being wrong has its own refusal."""

import stat
from pathlib import Path

import jwt
import pytest

from sandbox.identity.tokens import Claims, Identity, Refusal, Tokens

NOW = 1_800_000_000.0
WHO = Identity("principal", "client", "tenant", "/subscriptions/s/…/train")
STORAGE = "https://storage.azure.com"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens.open(tmp_path_factory.mktemp("keys") / "signing.pem")


def test_the_signing_key_is_made_once_and_only_its_owner_reads_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "keys" / "signing.pem"
    token = Tokens.open(file).mint(WHO, STORAGE, NOW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert isinstance(Tokens.open(file).verify(token, NOW), Claims)


@pytest.mark.parametrize("resource", [STORAGE, STORAGE + "/"])
def test_a_storage_token_verifies_with_and_without_the_trailing_slash(tokens: Tokens, resource: str) -> None:
    claims = tokens.verify(tokens.mint(WHO, resource, NOW), NOW)
    assert claims == Claims("principal", "client", "tenant", NOW + 86_400)


def test_a_token_is_valid_for_a_clock_a_minute_behind_but_not_two(
    tokens: Tokens,
) -> None:
    token = tokens.mint(WHO, STORAGE, NOW)
    assert isinstance(tokens.verify(token, NOW - 60), Claims)
    assert tokens.verify(token, NOW - 61) == Refusal("Lifetime validation failed. The token is not yet valid.")


def test_a_token_is_refused_from_the_second_it_expires(tokens: Tokens) -> None:
    token = tokens.mint(WHO, STORAGE, NOW, life_s=300)
    assert isinstance(tokens.verify(token, NOW + 299), Claims)
    assert tokens.verify(token, NOW + 300) == Refusal("Lifetime validation failed. The token is expired.")


@pytest.mark.parametrize(
    "resource",
    ["https://management.azure.com/", "https://storage.azure.com.example.test"],
)
def test_a_token_for_another_resource_is_refused(tokens: Tokens, resource: str) -> None:
    assert tokens.verify(tokens.mint(WHO, resource, NOW), NOW) == Refusal(
        "Audience validation failed. Audience did not match."
    )


def test_a_token_of_another_sandbox_is_refused(tokens: Tokens, tmp_path: Path) -> None:
    foreign = Tokens.open(tmp_path / "other.pem").mint(WHO, STORAGE, NOW)
    refusal = tokens.verify(foreign, NOW)
    assert isinstance(refusal, Refusal) and refusal.detail.startswith("Signature validation failed")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        jwt.encode({"aud": STORAGE}, "secret" * 8, algorithm="HS256"),
        jwt.encode({"aud": STORAGE}, None, algorithm="none"),
    ],
)
def test_garbage_unsigned_and_symmetric_tokens_are_refused(tokens: Tokens, token: str) -> None:
    assert isinstance(tokens.verify(token, NOW), Refusal)


def test_a_token_whose_issuer_is_not_its_tenant_is_refused(tokens: Tokens) -> None:
    claims = jwt.decode(tokens.mint(WHO, STORAGE, NOW), options={"verify_signature": False})
    forged = jwt.encode(
        {**claims, "iss": "https://sts.windows.net/other/"},
        tokens._key,
        algorithm="RS256",
    )
    assert tokens.verify(forged, NOW) == Refusal("Issuer validation failed. Issuer did not match.")
