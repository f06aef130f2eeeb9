"""Identity: least privilege, at a container, for managed identities and named people."""

from __future__ import annotations

from collections.abc import Iterator

from policies.read import last
from policies.rule import Given, Parameter, Properties, rule

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
_DEFINITION = ("authorization:RoleDefinition",)
_OPERATOR = "operator "
"""How the description of an assignment to people begins."""

_REMOVES = ("delete", "deleteblobversion", "permanentdelete", "manageownership", "modifypermissions", "runassuperuser")
"""Last words of the data actions by which a blob, or whoever may remove it, can be changed."""

_ROLES = "/subscriptions/…/providers/Microsoft.Authorization/roleDefinitions"
_READER = f"{_ROLES}/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
_ACCOUNT = "/subscriptions/…/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/lakeprod01"
_CONTAINER = f"{_ACCOUNT}/blobServices/default/containers/raw"
_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"


@rule(
    "identity-no-broad-role",
    _ASSIGNMENT,
    "A training job needs no keys to the house.",
    "a blob data role at a container",
    passes={"roleDefinitionId": _READER},
    fails={"roleDefinitionId": f"{_ROLES}/8e3af657-a8ff-443c-a75c-2fe8c4bcb635"},
)
def no_broad_role(p: Properties) -> Iterator[str]:
    if name := _BROAD.get(last(p.get("roleDefinitionId"))):
        yield f"assigns {name}"


@rule(
    "identity-no-subscription-scope",
    _ASSIGNMENT,
    "One mistake there is everywhere.",
    "assign at a container",
    passes={"scope": _CONTAINER},
    fails={"scope": "/subscriptions/…"},
)
def no_subscription_scope(p: Properties) -> Iterator[str]:
    words = str(p.get("scope")).strip("/").split("/")
    if len(words) <= 2 or words[:2] == ["providers", "Microsoft.Management"]:
        yield f"scope {p.get('scope')} is a subscription or above"


@rule(
    "identity-container-scope",
    _ASSIGNMENT,
    "Each identity sees its containers only.",
    "scope=container.id",
    passes={"roleDefinitionId": _READER, "scope": _CONTAINER},
    fails={"roleDefinitionId": _READER, "scope": _ACCOUNT},
)
def container_scope(p: Properties) -> Iterator[str]:
    name = _DATA.get(last(p.get("roleDefinitionId")))
    if name and "/containers/" not in str(p.get("scope")):
        yield f"{name} at {last(p.get('scope'))}: it covers every container there"


@rule(
    "identity-principal-type",
    _ASSIGNMENT,
    "The default, User, fails for an identity that was just made; people are named as such.",
    'principal_type="ServicePrincipal"; for people User or Group, and a description that begins with "operator "',
    passes={"principalType": "Group", "description": "operator vision-team"},
    fails={"principalType": "User"},
)
def principal_type(p: Properties) -> Iterator[str]:
    kind = p.get("principalType")
    if kind in ("User", "Group"):
        if not str(p.get("description") or "").startswith(_OPERATOR):
            yield f"principalType is {kind}: Azure refuses it for a managed identity, and people it does not name"
    elif kind != "ServicePrincipal":
        yield f"principalType is {kind or 'not set, so User'}"


@rule(
    "identity-condition-version",
    _ASSIGNMENT,
    "Azure refuses a condition without its version.",
    'condition_version="2.0"',
    passes={"condition": "((!(ActionMatches{'…/blobs/read'})) OR (…))", "conditionVersion": "2.0"},
    fails={"condition": "((!(ActionMatches{'…/blobs/read'})) OR (…))"},
)
def condition_version(p: Properties) -> Iterator[str]:
    if p.get("condition") and p.get("conditionVersion") != "2.0":
        yield f"its condition has version {p.get('conditionVersion') or 'none'}; only 2.0 narrows blob actions"


@rule(
    "identity-no-wildcard",
    _DEFINITION,
    "A wildcard grows by itself.",
    "name every action",
    passes={"permissions": [{"dataActions": [f"{_BLOBS}/read"]}]},
    fails={"permissions": [{"dataActions": [f"{_BLOBS}/*"]}]},
)
def no_wildcard(p: Properties) -> Iterator[str]:
    for action in _actions(p):
        if "*" in action:
            yield f"grants {action}"


@rule(
    "identity-append-only",
    _DEFINITION,
    "Who writes checkpoints must not be able to delete them, and only a role of our own can say so.",
    "leave delete out; whoever prunes has Storage Blob Data Contributor at that container",
    passes={"permissions": [{"dataActions": [f"{_BLOBS}/read", f"{_BLOBS}/add/action", f"{_BLOBS}/write"]}]},
    fails={"permissions": [{"dataActions": [f"{_BLOBS}/write", f"{_BLOBS}/delete"]}]},
)
def append_only(p: Properties) -> Iterator[str]:
    for action in _actions(p):
        words = action.lower().removesuffix("/action").split("/")
        if words[0] == "microsoft.storage" and words[-1] in _REMOVES:
            yield f"grants {action}"


@rule(
    "identity-assignable-here",
    _DEFINITION,
    "A role that is offered everywhere is assigned everywhere.",
    "assignable_scopes=[the lake's resource group]",
    passes={"assignableScopes": ["/subscriptions/…/resourceGroups/rg-lake"]},
    fails={"assignableScopes": ["/subscriptions/…"]},
)
def assignable_here(p: Properties) -> Iterator[str]:
    for scope in p.get("assignableScopes") or []:
        if len(str(scope).strip("/").split("/")) <= 2:
            yield f"can be assigned anywhere below {scope}"


@rule(
    "identity-no-federation",
    ("managedidentity:FederatedIdentityCredential",),
    "A federated credential lets somebody outside Azure become this identity.",
    "only the pipeline's identity has one, and it is made by bootstrap/",
    passes={"issuer": "https://token.actions.githubusercontent.com", "subject": "repo:acme/feedline:environment:prod"},
    fails={"issuer": "https://token.actions.githubusercontent.com", "subject": "repo:acme/*"},
    parameters=(Parameter("projects", "Pulumi projects that may make them.", ["feedline-bootstrap"]),),
    told={"projects": ["feedline"]},
)
def no_federation(p: Properties, given: Given) -> Iterator[str]:
    if given.project not in given["projects"]:
        yield f"lets {p.get('issuer')} in as this identity"
    if "*" in str(p.get("subject")) or not p.get("subject"):
        yield f"subject {p.get('subject') or 'not set'} is not one repository and environment"


def _actions(p: Properties) -> Iterator[str]:
    for permission in p.get("permissions") or []:
        yield from (str(a) for a in [*(permission.get("actions") or []), *(permission.get("dataActions") or [])])
