"""The settings of the one-time bootstrap, and the condition that keeps its pipeline identity to data roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from feedline import checks
from feedline.access import CONTRIBUTOR, READER
from feedline.errors import SettingsError
from feedline.schema import build, key

GITHUB_ISSUER = "https://token.actions.githubusercontent.com"
AUDIENCE = "api://AzureADTokenExchange"


_NAME = checks.matches(r"[a-z0-9-]{2,60}", "a-z, 0-9, '-'")


@dataclass(frozen=True)
class Cluster:
    """One environment whose groups the pipeline may fill."""

    name: str = key("Name of the cluster (feedline:cluster).", "feedline-dev", _NAME)
    location: str = key("Its region.", "swedencentral", checks.known_region)
    stack: str = key("Its stack, and the GitHub environment that deploys it.", "dev", _NAME)


@dataclass(frozen=True)
class Federation:
    """A token issuer of Azure DevOps' workload identity federation, one per service connection."""

    name: str = key("A name that ends with the stack's.", "ado-prod", _NAME)
    issuer: str = key(
        "Issuer, as the service connection shows it.",
        "https://vstoken.dev.azure.com/…",
        checks.matches("https://.+", ""),
    )
    subject: str = key(
        "Subject, as the service connection shows it.",
        "sc://org/project/connection",
        checks.matches("sc://.+", "sc://…"),
    )


@dataclass(frozen=True)
class Bootstrap:
    """`feedline:*` of the bootstrap's own stack file."""

    state_account: str = key(
        "Storage account of Pulumi's state; unique in all of Azure.", "feedlinestate01", checks.account
    )
    key_vault: str = key(
        "Key Vault with the key of the secrets provider; unique in all of Azure.",
        "kv-feedline-01",
        checks.matches(r"[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]", "3-24 of letters, digits, '-'"),
    )
    location: str = key("azure-native:location.", "swedencentral", checks.known_region)
    subscription_id: str = key("azure-native:subscriptionId.", "3f1a2b4c-0001-4d5e-8f60-000000000001", checks.guid)
    tenant_id: str = key("The tenant of the vault.", "5a9d0b1c-0000-4000-8000-000000000001", checks.guid)
    clusters: tuple[Cluster, ...] = key("The environments.", None)
    repository: str = key(
        "GitHub repository as owner/name; empty = none.",
        "acme/feedline",
        checks.optional(checks.matches(r"[\w.-]+/[\w.-]+", "owner/name")),
        "",
    )
    azure_devops: tuple[Federation, ...] = key("Service connections of Azure DevOps.", None, None, ())

    @classmethod
    def parse(cls, raw: Mapping[str, Any], *, where: str = "") -> Bootstrap:
        """Given the raw mapping, return the settings. Raise SettingsError with every problem."""
        problems: list[str] = []
        found = build(cls, raw, problems, name=lambda path: f"feedline:{path}")
        if isinstance(found, cls) and not (found.repository or found.azure_devops):
            problems.append("feedline:repository: nobody could run a pipeline (hint: repository, or azure_devops)")
        if problems:
            raise SettingsError(problems, where=where, hint="docs/runbooks/bootstrap.md explains every key")
        assert isinstance(found, cls)
        return found


def delegation(own_roles: Iterable[str]) -> str:
    """Given the GUIDs of our own roles, return the condition (version 2.0) that lets whoever holds Role Based Access
    Control Administrator assign and remove the blob data roles and ours, and no other.

    Source: Microsoft Learn, "Delegate Azure access management with conditions" (constrain roles), read 2026-12-01.
    """
    roles = ", ".join([READER, CONTRIBUTOR, *own_roles])
    kind = "Microsoft.Authorization/roleAssignments"
    return " AND ".join(
        f"((!(ActionMatches{{'{kind}/{verb}'}})) OR "
        f"({source}[{kind}:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {{{roles}}}))"
        for verb, source in (("write", "@Request"), ("delete", "@Resource"))
    )
