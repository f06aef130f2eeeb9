"""Names and ids that must be the same at every `up`."""

from __future__ import annotations

import uuid

_NAMESPACE = uuid.UUID("6f1d2c0e-6d0b-5b59-9c0a-feed11e00000")


def guid(*parts: str) -> str:
    """Given what makes something unique, return a GUID that depends on nothing else: known in preview, stable for ever.

    Role assignments need one. Identities enter by their logical name, not by principal id, which is unknown in
    previews.
    """
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


def builtin(subscription: str, role: str) -> str:
    """Given a subscription and a built-in role's GUID, return the role's id in the form that ARM answers with: any
    other form would show as a change at every refresh."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
