"""One row a resource type: how it is named, what cannot change, whether it needs a location. A new type is a new
row."""

from __future__ import annotations

import re
from dataclasses import dataclass

GUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
WORD = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?"


@dataclass(frozen=True)
class Row:
    """`name` is the regular expression of valid names; `fixed` are dotted paths that cannot change once set;
    `located` = needs a location; `parent` = must exist first (a resource type), None = lives in a resource group or
    at a scope."""

    type: str
    name: str = WORD
    fixed: tuple[str, ...] = ()
    located: bool = False
    parent: str | None = None
    scoped: bool = False


_STORAGE = "Microsoft.Storage/storageAccounts"
_BLOB = f"{_STORAGE}/blobServices"
_NET = "Microsoft.Network"

ROWS = (
    Row("Microsoft.Resources/resourceGroups", r"[\w.()-]{0,89}[\w()-]", ("location",), located=True),
    Row("Microsoft.Authorization/locks", scoped=True),
    Row(
        "Microsoft.Authorization/roleAssignments",
        GUID,
        ("properties.principalId", "properties.roleDefinitionId"),
        scoped=True,
    ),
    Row("Microsoft.Authorization/roleDefinitions", GUID, scoped=True),
    Row("Microsoft.Authorization/policyDefinitions", scoped=True),
    Row("Microsoft.Authorization/policyAssignments", r"[^#<>%&:\\?/]{1,64}", scoped=True),
    Row(_STORAGE, r"[a-z0-9]{3,24}", ("location", "kind", "properties.isHnsEnabled"), located=True),
    Row(_BLOB, "default", parent=_STORAGE),
    Row(f"{_BLOB}/containers", r"[a-z0-9](-?[a-z0-9]){2,62}", parent=_BLOB),
    Row(f"{_BLOB}/containers/immutabilityPolicies", "default", parent=f"{_BLOB}/containers"),
    Row(f"{_STORAGE}/managementPolicies", "default", parent=_STORAGE),
    Row(f"{_NET}/virtualNetworks", located=True),
    Row(f"{_NET}/virtualNetworks/subnets", parent=f"{_NET}/virtualNetworks"),
    Row(f"{_NET}/virtualNetworks/virtualNetworkPeerings", parent=f"{_NET}/virtualNetworks"),
    Row(f"{_NET}/networkSecurityGroups", located=True),
    Row(f"{_NET}/networkSecurityGroups/securityRules", parent=f"{_NET}/networkSecurityGroups"),
    Row(f"{_NET}/networkInterfaces", located=True),
    Row(f"{_NET}/privateEndpoints", fixed=("properties.subnet.id",), located=True),
    Row(f"{_NET}/privateEndpoints/privateDnsZoneGroups", parent=f"{_NET}/privateEndpoints"),
    Row(f"{_NET}/natGateways", located=True),
    Row(f"{_NET}/publicIPAddresses", located=True),
    Row(f"{_NET}/bastionHosts", located=True),
    Row(f"{_NET}/routeTables", located=True),
    Row(f"{_NET}/privateDnsZones", r"([a-z0-9_-]+\.)+[a-z0-9-]+"),
    Row(f"{_NET}/privateDnsZones/virtualNetworkLinks", parent=f"{_NET}/privateDnsZones"),
    Row(f"{_NET}/privateDnsZones/A", r"@|[A-Za-z0-9.*_-]+", parent=f"{_NET}/privateDnsZones"),
    Row("Microsoft.ManagedIdentity/userAssignedIdentities", r"[A-Za-z0-9][\w-]{2,127}", ("location",), located=True),
    Row("Microsoft.Compute/availabilitySets", fixed=("location",), located=True),
    Row("Microsoft.Compute/disks", located=True),
    Row(
        "Microsoft.Compute/virtualMachineScaleSets",
        fixed=("location", "properties.orchestrationMode", "properties.platformFaultDomainCount"),
        located=True,
    ),
    Row(
        "Microsoft.Compute/virtualMachines",
        r"[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?",
        (
            "location",
            "properties.osProfile.adminUsername",
            "properties.osProfile.computerName",
            "properties.storageProfile.imageReference",
            "properties.availabilitySet.id",
        ),
        located=True,
    ),
    Row("Microsoft.Insights/actionGroups", r"[^<>*%&:?+/\\]{1,260}"),
    Row("Microsoft.Insights/metricAlerts", r"[^<>*%&:?+/\\]{1,260}"),
    Row("Microsoft.Insights/scheduledQueryRules", r"[^<>*%&:?+/\\]{1,260}"),
    Row("Microsoft.Insights/diagnosticSettings", r"[^<>*%&:?+/\\]{1,260}", scoped=True),
    Row("Microsoft.OperationalInsights/workspaces", r"[A-Za-z0-9][A-Za-z0-9-]{2,61}[A-Za-z0-9]", located=True),
    Row("Microsoft.OperationalInsights/queryPacks", r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", located=True),
    Row("Microsoft.OperationalInsights/queryPacks/queries", GUID, parent="Microsoft.OperationalInsights/queryPacks"),
    Row("Microsoft.Consumption/budgets", r"[\w-]{1,63}", scoped=True),
    Row(
        "Microsoft.StorageCache/amlFilesystems",
        r"[A-Za-z0-9]([\w-]{0,78}[A-Za-z0-9])?",
        ("location", "properties.hsm"),
        located=True,
    ),
    Row(
        "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
        r"[A-Za-z0-9][\w-]{2,119}",
        parent="Microsoft.ManagedIdentity/userAssignedIdentities",
    ),
    Row("Microsoft.KeyVault/vaults/keys", r"[A-Za-z0-9-]{1,127}", parent="Microsoft.KeyVault/vaults"),
    Row("Microsoft.KeyVault/vaults", r"[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]", ("location",), located=True),
)

BY_TYPE = {row.type.lower(): row for row in ROWS}


def valid_name(row: Row, name: str) -> bool:
    """Given a row and a name, return whether ARM would take it."""
    return re.fullmatch(row.name, name) is not None
