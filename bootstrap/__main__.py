"""Once, by a person with Owner: where state and key are, and the identity that pipelines work as. No secret is made."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Pulumi starts the program inside its own folder

import json
import os
from collections.abc import Sequence

import pulumi
import pulumi_azure_native as az

from feedline.access import APPEND_ACTIONS, APPEND_DATA_ACTIONS, append_role_name
from feedline.bootstrap import AUDIENCE, GITHUB_ISSUER, Bootstrap, Cluster, delegation
from feedline.errors import FeedlineError
from infra.naming import builtin, container_id, guid

CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
RBAC_ADMINISTRATOR = "f58310d9-a9f6-439a-9e8d-f62e7b41a168"
BLOB_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
CRYPTO_USER = "12338af0-0e69-4776-bea7-57ae8d297424"
AUTHORIZATION = "Microsoft.Authorization"
KEEP = (
    *(f"{AUTHORIZATION}/locks/{verb}" for verb in ("read", "write")),
    *(f"{AUTHORIZATION}/policyAssignments/{verb}" for verb in ("read", "write", "delete")),
)
"""What Contributor lacks and `pulumi up` needs: the lake's lock (never its deletion) and the groups' policies."""

KEPT = pulumi.ResourceOptions(protect=True, retain_on_delete=True)


def load() -> Bootstrap:
    """Return the stack's settings. Raise SettingsError."""
    found, native = {}, pulumi.Config("azure-native")
    for name, text in json.loads(os.environ.get("PULUMI_CONFIG", "{}")).items():
        if name.startswith("feedline:"):
            value = text if not text.startswith(("[", "{")) else json.loads(text)
            found[name.removeprefix("feedline:")] = value
    found |= {"location": native.get("location"), "subscription_id": native.get("subscriptionId")}
    return Bootstrap.parse({k: v for k, v in found.items() if v is not None}, where=f"Pulumi.{pulumi.get_stack()}.yaml")


def state(settings: Bootstrap, group: az.resources.ResourceGroup) -> az.storage.BlobContainer:
    """The state: versions and soft delete instead of a hierarchical namespace, because a state can be overwritten."""
    account = az.storage.StorageAccount(
        "state",
        resource_group_name=group.name,
        account_name=settings.state_account,
        location=settings.location,
        kind="StorageV2",
        sku={"name": "Standard_ZRS"},
        is_hns_enabled=False,
        allow_shared_key_access=False,
        default_to_o_auth_authentication=True,
        minimum_tls_version="TLS1_2",
        enable_https_traffic_only=True,
        allow_blob_public_access=False,
        public_network_access="Enabled",  # hosted runners have no fixed address; an identity opens it, never a key
        allow_cross_tenant_replication=False,
        tags={"feedline": "bootstrap"},
        opts=KEPT,
    )
    az.storage.BlobServiceProperties(
        "state-service",
        resource_group_name=group.name,
        account_name=account.name,
        blob_services_name="default",
        is_versioning_enabled=True,
        delete_retention_policy={"enabled": True, "days": 30},
        container_delete_retention_policy={"enabled": True, "days": 30},
    )
    return az.storage.BlobContainer(
        "state-container",
        resource_group_name=group.name,
        account_name=account.name,
        container_name="state",
        public_access="None",
        opts=KEPT,
    )


def secrets(settings: Bootstrap, group: az.resources.ResourceGroup) -> az.keyvault.Key:
    """The key with which Pulumi wraps each stack's secrets."""
    vault = az.keyvault.Vault(
        "vault",
        resource_group_name=group.name,
        vault_name=settings.key_vault,
        location=settings.location,
        properties={
            "sku": {"family": "A", "name": "standard"},
            "tenant_id": settings.tenant_id,
            "enable_rbac_authorization": True,
            "enable_purge_protection": True,
            "enable_soft_delete": True,
            "soft_delete_retention_in_days": 90,
        },
        tags={"feedline": "bootstrap"},
        opts=KEPT,
    )
    return az.keyvault.Key(
        "key",
        resource_group_name=group.name,
        vault_name=vault.name,
        key_name="pulumi",
        properties={"kty": "RSA", "key_size": 3072, "key_ops": ["encrypt", "decrypt", "wrapKey", "unwrapKey"]},
        opts=KEPT,
    )


def pipeline(
    settings: Bootstrap,
    group: az.resources.ResourceGroup,
    container: az.storage.BlobContainer,
    wrapping: az.keyvault.Key,
) -> None:
    """One identity per environment: it trusts that environment's jobs, and may fill that environment's groups."""
    root = f"/subscriptions/{settings.subscription_id}/resourceGroups"
    base = f"{root}/rg-feedline-bootstrap/providers"
    state_scope = container_id(f"{base}/Microsoft.Storage/storageAccounts/{settings.state_account}", "state")
    key_scope = f"{base}/Microsoft.KeyVault/vaults/{settings.key_vault}/keys/pulumi"
    clients = {}
    for cluster in settings.clusters:
        identity = az.managedidentity.UserAssignedIdentity(
            f"pipeline-{cluster.stack}",
            resource_group_name=group.name,
            resource_name_=f"id-feedline-pipeline-{cluster.stack}",
            location=settings.location,
        )
        clients[cluster.stack] = identity.client_id
        trusted = [(f.name, f.issuer, f.subject) for f in settings.azure_devops if f.name.endswith(cluster.stack)]
        if settings.repository:
            subject = f"repo:{settings.repository}:environment:{cluster.stack}"
            trusted.append((f"github-{cluster.stack}", GITHUB_ISSUER, subject))
        for name, issuer, subject in trusted:
            az.managedidentity.FederatedIdentityCredential(
                f"trust-{name}",
                resource_group_name=group.name,
                resource_name_=identity.name,
                federated_identity_credential_resource_name=name,
                issuer=issuer,
                subject=subject,
                audiences=[AUDIENCE],
            )
        own = [guid("role", cluster.name, "append")]
        scopes = []
        for tail in ("", "-lake", "-hot"):
            made = az.resources.ResourceGroup(
                f"group-{cluster.name}{tail}",
                resource_group_name=f"rg-{cluster.name}{tail}",
                location=cluster.location,
                tags={"feedline": cluster.name},
                opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True, ignore_changes=["tags"]),
            )
            scopes.append((f"{root}/rg-{cluster.name}{tail}", made))
        _role(
            cluster,
            scopes[1],
            "append",
            append_role_name(cluster.name),
            actions=APPEND_ACTIONS,
            data=APPEND_DATA_ACTIONS,
        )
        roles = [(CONTRIBUTOR, "fill", None), (RBAC_ADMINISTRATOR, "grant", delegation(own))]
        for scope, made in scopes:
            for role, verb, condition in roles:
                _assign(
                    identity,
                    cluster.stack,
                    verb,
                    builtin(settings.subscription_id, role),
                    scope,
                    condition,
                    [made],
                )
            keeper = _role(cluster, (scope, made), "keep", f"Feedline {scope.rsplit('/', 1)[-1]} keeper", actions=KEEP)
            _assign(identity, cluster.stack, "keep", keeper.id, scope, None, [keeper])
        # Scopes are written out, so what they name has to be waited for.
        kept = (("state", BLOB_CONTRIBUTOR, state_scope, container), ("key", CRYPTO_USER, key_scope, wrapping))
        for verb, role, scope, there in kept:
            used = builtin(settings.subscription_id, role)
            _assign(identity, cluster.stack, verb, used, scope, None, [there])
    pulumi.export("clients", clients)


def _role(
    cluster: Cluster,
    where: tuple[str, az.resources.ResourceGroup],
    label: str,
    title: str,
    *,
    actions: Sequence[str] = (),
    data: Sequence[str] = (),
) -> az.authorization.RoleDefinition:
    """A role of ours. Pipelines may use it, and not change it: they have no right on role definitions."""
    scope, group = where
    unique = guid("role", cluster.name, label) if label == "append" else guid("role", cluster.name, label, scope)
    return az.authorization.RoleDefinition(
        f"{cluster.name}-role-{label}-{scope.rsplit('/', 1)[-1]}",
        role_definition_id=unique,
        scope=scope,
        role_name=title,
        role_type="CustomRole",
        assignable_scopes=[scope],
        permissions=[{"actions": list(actions), "not_actions": [], "data_actions": list(data), "not_data_actions": []}],
        opts=pulumi.ResourceOptions(depends_on=[group]),
    )


def _assign(
    identity: az.managedidentity.UserAssignedIdentity,
    stack: str,
    verb: str,
    role: pulumi.Input[str],
    scope: str,
    condition: str | None,
    after: list[pulumi.Resource],
) -> None:
    place = scope.rsplit("/", 1)[-1]
    az.authorization.RoleAssignment(
        f"{stack}-{verb}-{place}",
        role_assignment_name=guid("bootstrap", stack, verb, scope),
        scope=scope,
        role_definition_id=role,
        principal_id=identity.principal_id,
        principal_type="ServicePrincipal",
        condition=condition,
        condition_version="2.0" if condition else None,
        opts=pulumi.ResourceOptions(depends_on=after),
    )


def main() -> None:
    """Declare the bootstrap."""
    settings = load()
    group = az.resources.ResourceGroup(
        "bootstrap",
        resource_group_name="rg-feedline-bootstrap",
        location=settings.location,
        tags={"feedline": "bootstrap"},
        opts=KEPT,
    )
    pipeline(settings, group, state(settings, group), secrets(settings, group))
    pulumi.export("backend", f"azblob://state?storage_account={settings.state_account}")
    pulumi.export("secrets_provider", f"azurekeyvault://{settings.key_vault}.vault.azure.net/keys/pulumi")


try:
    main()
except FeedlineError as error:
    pulumi.log.error(str(error))
    sys.exit(32)  # the code by which Pulumi knows that the error was shown already
