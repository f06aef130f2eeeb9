"""The sandbox's certificate authority and the certificate of its blob and dfs endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trustme

from sandbox.gateway.endpoints import DOMAIN, GROUPS
from sandbox.identity.files import write_private

if TYPE_CHECKING:
    from sandbox.layout import Layout


def ensure_ca(layout: Layout) -> Path:
    """Return the PEM file of the sandbox's authority (`Layout.ca_pem`), made with its key at the first call."""
    _authority(layout)
    return layout.ca_pem


def ensure_server_certificate(layout: Layout) -> tuple[Path, Path]:
    """Return (certificate chain, key) for `*.blob` and `*.dfs.core.windows.net`, as Azure's own front ends have it.

    It is issued anew at every call, so it always belongs to the authority that is on disk.
    """
    leaf = _authority(layout).issue_cert(*(f"*.{group}.{DOMAIN}" for group in GROUPS), common_name=f"*.blob.{DOMAIN}")
    chain, key = layout.gateway / "tls.pem", layout.gateway / "tls.key"
    write_private(chain, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    write_private(key, leaf.private_key_pem.bytes())
    return chain, key


def _authority(layout: Layout) -> trustme.CA:
    """Load the authority, or make it; the key stays in `Layout.keys`, readable by its owner only."""
    key = layout.keys / "ca.key"
    if key.exists() and layout.ca_pem.exists():
        return trustme.CA.from_pem(layout.ca_pem.read_bytes(), key.read_bytes())
    authority = trustme.CA(organization_name="Feedline sandbox", organization_unit_name="rehearsal only")
    write_private(key, authority.private_key_pem.bytes())
    layout.ca_pem.write_bytes(authority.cert_pem.bytes())
    return authority
