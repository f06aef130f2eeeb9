"""What ARM checks, fills in and refuses when a resource is put or deleted."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sandbox.cloud import compute, network, scale_sets
from sandbox.cloud.ids import ResourceId, is_below
from sandbox.cloud.rbac import role_guid
from sandbox.cloud.refusal import Refusal
from sandbox.cloud.table import BY_TYPE, Row, valid_name

if TYPE_CHECKING:
    from sandbox.cloud.store import Cloud

Resource = dict[str, Any]
TENANT = "5a9d0b1c-0000-4000-8000-feed11e00001"
GROUP_TYPE = "Microsoft.Resources/resourceGroups"
LOCK_TYPE = "Microsoft.Authorization/locks"


def canonical(kind: str) -> str:
    """Given a type in any case, return it as Azure writes it. Raise Refusal for a type this sandbox does not
    simulate."""
    return _row(kind).type


def accept(cloud: Cloud, identity: ResourceId, resource: Resource, before: Resource | None) -> list[Resource]:
    """Check and complete a resource about to be put; return other resources that come into being with it. Raise
    Refusal."""
    row = _row(identity.type)
    _check_name(row, identity)
    _check_parents(cloud, row, identity)
    if row.located and not resource.get("location"):
        raise Refusal(400, "LocationRequired", f"The location property is required for this definition: {row.type}.")
    if before is not None:
        _check_fixed(row, resource, before)
    resource["properties"].setdefault("provisioningState", "Succeeded")
    complete = _COMPLETE.get(row.type)
    return complete(cloud, resource, before) if complete else []


def release(cloud: Cloud, resource: Resource) -> None:
    """Check that a resource may be deleted. Raise Refusal when a lock or another resource holds it."""
    for lock in cloud.list(LOCK_TYPE):
        scope = lock["id"].rsplit("/providers/", 1)[0]
        if lock["id"] == resource["id"]:
            continue
        # A lock holds what is at and below its scope, and whatever contains that scope.
        if is_below(resource["id"], scope) or is_below(scope, resource["id"]):
            raise Refusal(
                409,
                "ScopeLocked",
                f"The scope '{resource['id']}' cannot perform delete operation because following scope(s) are locked: "
                f"'{scope}'. Please remove the lock and try again.",
            )
    network.release(cloud, resource)
    if resource["type"] == "Microsoft.Storage/storageAccounts/blobServices/containers":
        _container(cloud, resource)


def dependants(cloud: Cloud, resource: Resource) -> list[Resource]:
    """Return resources elsewhere that end with this one (a private endpoint's interface and records)."""
    return network.dependants(cloud, resource)


def _row(kind: str) -> Row:
    row = BY_TYPE.get(kind.lower())
    if row is None:
        raise Refusal(
            400,
            "NoRegisteredProviderFound",
            f"Resource type {kind!r} is not simulated by this sandbox (sandbox/cloud/table.py).",
        )
    return row


def _check_name(row: Row, identity: ResourceId) -> None:
    if valid_name(row, identity.name):
        return
    code = "AccountNameInvalid" if row.type == "Microsoft.Storage/storageAccounts" else "InvalidResourceName"
    raise Refusal(400, code, f"{identity.name!r} is not a valid name for {row.type}: it must match {row.name}")


def _check_parents(cloud: Cloud, row: Row, identity: ResourceId) -> None:
    if identity.group and row.type != GROUP_TYPE and cloud.get(identity.group) is None:
        name = identity.group.rsplit("/", 1)[-1]
        raise Refusal(404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
    if row.parent and cloud.get(identity.parent) is None:
        raise Refusal(
            404,
            "ParentResourceNotFound",
            f"Can not perform requested operation on nested resource. Parent resource '{identity.parent}' not found.",
        )
    if (
        row.scoped
        and identity.group
        and identity.parent.lower() != identity.group.lower()
        and cloud.get(identity.parent) is None
    ):
        raise Refusal(404, "ResourceNotFound", f"The scope '{identity.parent}' was not found.")


def _check_fixed(row: Row, resource: Resource, before: Resource) -> None:
    for path in row.fixed:
        old, new = _at(before, path), _at(resource, path)
        if old is None and path == "properties.isHnsEnabled":
            old = False
        if new is None or _same(old, new):
            continue
        if row.type == "Microsoft.Authorization/roleAssignments":
            raise Refusal(
                400,
                "RoleAssignmentUpdateNotPermitted",
                "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.",
            )
        raise Refusal(
            409, "PropertyChangeNotAllowed", f"Changing property '{path.removeprefix('properties.')}' is not allowed."
        )


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        return old.replace(" ", "").lower() == new.replace(" ", "").lower()
    return bool(old == new)


def _at(resource: Resource, path: str) -> Any:
    value: Any = resource
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _guid(*parts: str) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256("\0".join(parts).encode()).digest()[:16], version=4))


# -- completing one type each


def _identity(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    # A recreated identity is a new principal in Azure; within one sandbox the id is enough to tell them apart.
    known = (before or {}).get("properties", {})
    resource["properties"] |= {
        "tenantId": TENANT,
        "principalId": known.get("principalId") or _guid("principal", resource["id"].lower()),
        "clientId": known.get("clientId") or _guid("client", resource["id"].lower()),
    }
    return []


def _account(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    name = resource["name"]
    for other in cloud.list("Microsoft.Storage/storageAccounts"):
        if other["name"] == name and other["id"].lower() != resource["id"].lower():
            raise Refusal(409, "StorageAccountAlreadyTaken", f"The storage account named {name} is already taken.")
    if resource.get("kind") not in ("StorageV2", "BlockBlobStorage", "FileStorage", "BlobStorage", "Storage"):
        raise Refusal(400, "InvalidValuesForRequestParameters", "Values for request parameters are invalid: kind.")
    if not (resource.get("sku") or {}).get("name"):
        raise Refusal(400, "InvalidValuesForRequestParameters", "Values for request parameters are invalid: sku.")
    properties = resource["properties"]
    if before is not None:
        properties.setdefault("isHnsEnabled", before["properties"].get("isHnsEnabled", False))
    properties.setdefault("isHnsEnabled", False)
    properties.setdefault("allowSharedKeyAccess", True)
    properties.setdefault("minimumTlsVersion", "TLS1_0")
    properties.setdefault("allowBlobPublicAccess", False)
    properties.setdefault("publicNetworkAccess", "Enabled")
    services = ("blob", "dfs", "file", "queue", "table", "web")
    properties["primaryEndpoints"] = {s: f"https://{name}.{s}.core.windows.net/" for s in services}
    blob = {
        "id": f"{resource['id']}/blobServices/default",
        "name": "default",
        "type": "Microsoft.Storage/storageAccounts/blobServices",
    }
    return [] if before else [{**blob, "properties": {"provisioningState": "Succeeded"}}]


def _blob_service(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    account = cloud.get(resource["id"].rsplit("/blobServices/", 1)[0]) or {"properties": {}}
    if account["properties"].get("isHnsEnabled") and resource["properties"].get("isVersioningEnabled"):
        raise Refusal(
            400,
            "FeatureNotSupportedForAccount",
            "Blob versioning is not supported for accounts with hierarchical namespace.",
        )
    return []


def _assignment(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    properties = resource["properties"]
    for key in ("principalId", "roleDefinitionId"):
        if not properties.get(key):
            raise Refusal(
                400,
                "InvalidCreateRoleAssignmentRequest",
                f"The request to create role assignment is invalid: no {key}.",
            )
    if properties.get("condition") and properties.get("conditionVersion") != "2.0":
        raise Refusal(
            400,
            "InvalidConditionVersion",
            "The condition version specified is not supported: the current supported version is 2.0.",
        )
    if cloud.role(role_guid(properties["roleDefinitionId"])) is None:
        raise Refusal(
            400,
            "RoleDefinitionDoesNotExist",
            f"The specified role definition '{properties['roleDefinitionId']}' does not exist.",
        )
    scope = resource["id"].rsplit("/providers/Microsoft.Authorization/", 1)[0]
    properties["scope"] = scope
    for other in cloud.list("Microsoft.Authorization/roleAssignments"):
        have = other["properties"]
        if other["id"].lower() == resource["id"].lower() or have["scope"].lower() != scope.lower():
            continue
        if have["principalId"] == properties["principalId"] and role_guid(have["roleDefinitionId"]) == role_guid(
            properties["roleDefinitionId"]
        ):
            raise Refusal(
                409,
                "RoleAssignmentExists",
                f"The role assignment already exists. The ID of the conflicting role assignment is {other['name']}.",
            )
    known = {i["properties"]["principalId"] for i in cloud.list("Microsoft.ManagedIdentity/userAssignedIdentities")}
    if properties["principalId"] in known and properties.get("principalType", "User") != "ServicePrincipal":
        raise Refusal(
            400,
            "UnmatchedPrincipalType",
            f"The PrincipalId '{properties['principalId']}' has type 'ServicePrincipal', which is different "
            f"from specified PrinciaplType '{properties.get('principalType', 'User')}'.",
        )
    return []


def _container(cloud: Cloud, resource: Resource) -> None:
    """Raise Refusal for a container that an immutability policy keeps."""
    if cloud.get(f"{resource['id']}/immutabilityPolicies/default") is not None:
        raise Refusal(
            409,
            "ContainerImmutableStoragePolicyExists",
            f"The container '{resource['name']}' has an immutability policy: it and its blobs cannot be deleted.",
        )


def _definition(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    if not resource["properties"].get("assignableScopes"):
        raise Refusal(400, "RoleDefinitionScopesMissing", "The role definition has no assignable scopes.")
    for other in cloud.list("Microsoft.Authorization/roleDefinitions"):
        if other["id"] != resource["id"] and other["properties"].get("roleName") == resource["properties"].get(
            "roleName"
        ):
            raise Refusal(
                409,
                "RoleDefinitionWithSameNameExists",
                f"A custom role named {resource['properties'].get('roleName')!r} exists already.",
            )
    return []


def _vault(cloud: Cloud, resource: Resource, before: Resource | None) -> list[Resource]:
    # A deleted vault keeps its name for its retention; the next one of that name has to be the same one.
    recovers = resource["properties"].get("createMode") == "recover"
    if before is None and resource["name"].lower() in cloud.deleted(resource["type"]) and not recovers:
        raise Refusal(
            409,
            "ConflictError",
            f"A vault with the same name already exists in deleted state. You need to either recover or purge existing "
            f"key vault. ({resource['name']})",
        )
    protected = before is not None and before["properties"].get("enablePurgeProtection")
    if protected and resource["properties"].get("enablePurgeProtection") is False:
        raise Refusal(
            400,
            "BadRequest",
            'The property "enablePurgeProtection" cannot be set to false. Enabling the purge protection for a vault is '
            "an irreversible action.",
        )
    return []


Complete = Callable[["Cloud", Resource, Resource | None], list[Resource]]
_COMPLETE: dict[str, Complete] = {
    "Microsoft.ManagedIdentity/userAssignedIdentities": _identity,
    "Microsoft.Storage/storageAccounts": _account,
    "Microsoft.Storage/storageAccounts/blobServices": _blob_service,
    "Microsoft.Authorization/roleAssignments": _assignment,
    "Microsoft.Authorization/roleDefinitions": _definition,
    "Microsoft.KeyVault/vaults": _vault,
    "Microsoft.Network/virtualNetworks": network.virtual_network,
    "Microsoft.Network/virtualNetworks/subnets": network.subnet,
    "Microsoft.Network/networkInterfaces": network.interface,
    "Microsoft.Network/privateEndpoints": network.private_endpoint,
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": network.zone_group,
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": network.zone_link,
    "Microsoft.Compute/virtualMachines": compute.virtual_machine,
    "Microsoft.Compute/virtualMachineScaleSets": scale_sets.scale_set,
}
