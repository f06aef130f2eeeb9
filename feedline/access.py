"""Who is granted what in the lake, and how a grant is narrowed to a path."""

from __future__ import annotations

READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
"""Storage Blob Data Reader and Contributor; the GUIDs are the same in every tenant."""

GRANTS = {
    "train": {"training-data": "read", "models": "read", "checkpoints": "append"},
    "ingest": {"raw": "write", "training-data": "write"},
    "prepare": {"raw": "read", "training-data": "write"},
    "serve": {"models": "read"},
    "janitor": {"checkpoints": "write"},
}
"""What each managed identity is granted, by container. `append` is the custom role: read, add and write, but never
delete. `ingest` brings data in, `prepare` makes training data of it, `serve` hands models out, and `janitor` is the
only one that may delete checkpoints."""

CONTAINERS = "Microsoft.Storage/storageAccounts/blobServices/containers"
APPEND_ACTIONS = (f"{CONTAINERS}/read",)
APPEND_DATA_ACTIONS = tuple(f"{CONTAINERS}/blobs/{verb}" for verb in ("read", "add/action", "write"))
"""What the custom role of `append` may do: a job that writes checkpoints must not be able to delete them, and no
built-in role says that."""

_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_VERBS = {"read": ("read",), "write": ("read", "write", "add/action", "delete", "move/action")}


def append_role_name(cluster: str) -> str:
    """Given a cluster, return the name of its custom role for `append`."""
    return f"Feedline {cluster} checkpoint writer"


def condition(prefix: str, access: str) -> str:
    """Given a path that ends with '/' and `read` or `write`, return the ABAC condition (version 2.0) that keeps the
    role to blobs below that path.

    An action outside the list is not narrowed, so the list names every data action of the role. Source: Microsoft
    Learn, "Example Azure role assignment conditions for Blob Storage" (read, write or delete blobs in a path), read
    2026-12-01; the attribute is `blobs:path`, and listing has no blob, so the
    request's prefix narrows it.
    """
    guarded = [f"ActionMatches{{'{_BLOBS}/{verb}'}}" for verb in _VERBS[access]]
    listing = f"{guarded[0]} AND SubOperationMatches{{'Blob.List'}}"
    guarded[0] += " AND NOT SubOperationMatches{'Blob.List'}"
    others = " AND ".join(f"!({action})" for action in guarded)
    path = f"@Resource[{_BLOBS}:path] StringStartsWith '{prefix}'"
    request = f"@Request[{_BLOBS}:prefix] StringStartsWith '{prefix}'"
    return f"(({others}) OR ({path})) AND ((!({listing})) OR ({request}))"
