"""Access tokens as Microsoft Entra issues them: RS256 JWTs signed by one key per sandbox, and their verification."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.identity.files import write_private

STORAGE_RESOURCE = "https://storage.azure.com"
DEFAULT_LIFE_S = 86_400  # managed identity tokens live 24 h (Microsoft Learn, "token caching", 2026)
BACKDATE_S = 60  # nbf/iat lie in the past, so a clock that is a little behind does not refuse a fresh token
_KEY_BITS = 2048


@dataclass(frozen=True)
class Identity:
    """A managed identity as tokens need it: three GUIDs and the resource it comes from."""

    principal_id: str
    client_id: str
    tenant_id: str
    resource_id: str

    @classmethod
    def of(cls, resource: Mapping[str, Any]) -> Identity:
        """Given a `Microsoft.ManagedIdentity/userAssignedIdentities` body, return its identity. Raise KeyError if a
        GUID is missing.
        """
        properties = resource["properties"]
        return cls(
            properties["principalId"],
            properties["clientId"],
            properties["tenantId"],
            resource["id"],
        )


@dataclass(frozen=True)
class Claims:
    """What a verified token says; `expires_at` in seconds since the epoch."""

    principal_id: str
    client_id: str
    tenant_id: str
    expires_at: float


@dataclass(frozen=True)
class Refusal:
    """Why a token does not count, in the words of Azure Storage's `AuthenticationErrorDetail`."""

    detail: str


class Tokens:
    """Mints and verifies tokens with one RSA key; `life_s` (seconds) is the life of tokens minted without one, settable
    as a fault.
    """

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        self.life_s: float = DEFAULT_LIFE_S

    @classmethod
    def open(cls, key_file: Path) -> Tokens:
        """Given the path of the signing key, return tokens signed by it; the key is made (mode 0600) when the file is
        not there.
        """
        if not key_file.exists():
            _write_key(
                key_file,
                rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS),
            )
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise TypeError(f"{key_file}: not an RSA private key; remove the file and the sandbox makes a new one")
        return cls(key)

    def mint(self, identity: Identity, resource: str, now: float, life_s: float | None = None) -> str:
        """Given an identity, the resource (audience) it asks for, the time and a life (both seconds), return a signed
        access token.
        """
        issued = int(now - BACKDATE_S)
        claims = {
            "aud": resource,
            "iss": f"https://sts.windows.net/{identity.tenant_id}/",
            "iat": issued,
            "nbf": issued,
            "exp": int(now + (self.life_s if life_s is None else life_s)),
            "appid": identity.client_id,
            "appidacr": "2",  # 2 = a certificate, as managed identities have
            "idtyp": "app",
            "oid": identity.principal_id,
            "sub": identity.principal_id,
            "tid": identity.tenant_id,
            "xms_mirid": identity.resource_id,
            "uti": uuid.uuid4().hex,
            "ver": "1.0",
        }
        return jwt.encode(claims, self._key, algorithm="RS256")

    def verify(self, token: str, now: float) -> Claims | Refusal:
        """Given a bearer token and the time (seconds since the epoch), return its claims, or why Azure Storage would
        refuse it.
        """
        try:
            # Times and audience are judged below against `now`: PyJWT would use the process's own clock.
            claims = jwt.decode(
                token,
                self._public,
                algorithms=["RS256"],
                options={
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_aud": False,
                    "require": ["aud", "iss", "exp", "nbf", "oid", "appid", "tid"],
                },
            )
        except jwt.InvalidSignatureError:
            return Refusal("Signature validation failed. Signature verification failed.")
        except jwt.InvalidTokenError as error:
            return Refusal(f"The token is malformed: {error}")
        if not isinstance(claims["aud"], str) or claims["aud"].rstrip("/") != STORAGE_RESOURCE:
            return Refusal("Audience validation failed. Audience did not match.")
        if claims["iss"] != f"https://sts.windows.net/{claims['tid']}/":
            return Refusal("Issuer validation failed. Issuer did not match.")
        if now < claims["nbf"]:
            return Refusal("Lifetime validation failed. The token is not yet valid.")
        if now >= claims["exp"]:
            return Refusal("Lifetime validation failed. The token is expired.")
        return Claims(claims["oid"], claims["appid"], claims["tid"], float(claims["exp"]))


def _write_key(key_file: Path, key: rsa.RSAPrivateKey) -> None:
    """Write the key in PEM, readable by its owner only from the first byte on."""
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(key_file, pem)
