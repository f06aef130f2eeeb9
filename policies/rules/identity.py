"""Identity: least privilege, at a container, for managed identities."""

from __future__ import annotations

from collections.abc import Iterator

from policies.rule import Properties, Rule

_BROAD = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
    "17d1049b-9a84-46fb-8f53-869881c3d3ab": "Storage Account Contributor",
    "81a9662b-bebf-436f-a333-f67b29880f12": "Storage Account Key Operator",
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
}
_DATA = {
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
}
_ASSIGNMENT = ("authorization:RoleAssignment",)


def _role(p: Properties) -> str:
    return str(p.get("roleDefinitionId")).rsplit("/", 1)[-1].lower()


def _broad(p: Properties) -> Iterator[str]:
    if _role(p) in _BROAD:
        yield f"assigns {_BROAD[_role(p)]}"


def _subscription(p: Properties) -> Iterator[str]:
    words = str(p.get("scope")).strip("/").split("/")
    if len(words) <= 2 or words[0].lower() == "providers":
        yield f"scope {p.get('scope')} is a subscription or above"


def _container(p: Properties) -> Iterator[str]:
    if _role(p) in _DATA and "/containers/" not in str(p.get("scope")):
        yield f"{_DATA[_role(p)]} at {str(p.get('scope')).rsplit('/', 1)[-1]}: it covers every container there"


def _principal(p: Properties) -> Iterator[str]:
    if p.get("principalType") in (None, "User"):
        yield "principalType is User, which Azure refuses for a managed identity"


def _wildcard(p: Properties) -> Iterator[str]:
    for permission in p.get("permissions") or []:
        for action in [*(permission.get("actions") or []), *(permission.get("dataActions") or [])]:
            if "*" in action:
                yield f"grants {action}"


RULES = (
    Rule(
        "identity-no-broad-role",
        _ASSIGNMENT,
        "A training job needs no keys to the house.",
        "a blob data role at a container",
        _broad,
    ),
    Rule(
        "identity-no-subscription-scope",
        _ASSIGNMENT,
        "One mistake there is everywhere.",
        "assign at a container",
        _subscription,
    ),
    Rule(
        "identity-container-scope",
        _ASSIGNMENT,
        "Each identity sees its containers only.",
        "scope=container.id",
        _container,
    ),
    Rule(
        "identity-principal-type",
        _ASSIGNMENT,
        "The default fails right after creation.",
        'principal_type="ServicePrincipal"',
        _principal,
    ),
    Rule(
        "identity-no-wildcard",
        ("authorization:RoleDefinition",),
        "A wildcard grows by itself.",
        "name every action",
        _wildcard,
    ),
)
