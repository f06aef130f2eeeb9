"""One row an azure-native resource: its ARM path, the input that names it, and what differs from plain
`properties.*`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_RG = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"
_ACCOUNT = f"{_RG}/providers/Microsoft.Storage/storageAccounts/{{accountName}}"
_NET = f"{_RG}/providers/Microsoft.Network"
_COMPUTE = f"{_RG}/providers/Microsoft.Compute"


@dataclass(frozen=True)
class Row:
    """`path` is the ARM path with inputs in braces, `name` the input that names the resource. `force` = body inputs
    whose change replaces. `unknown` = outputs that only exist once ARM has answered. `located` = location is defaulted.
    `singleton` = deleting it puts the default back. `lower` = automatic names are lower case without punctuation."""

    path: str
    name: str
    force: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    located: bool = False
    singleton: bool = False
    lower: bool = False
    guid: bool = False

    @property
    def path_inputs(self) -> tuple[str, ...]:
        """The inputs that are part of the id: changing one is another resource."""
        return tuple(k for k in re.findall(r"{(\w+)}", self.path) if k != "subscriptionId")

    @property
    def arm_type(self) -> str:
        """The ARM type, e.g. `Microsoft.Storage/storageAccounts`."""
        scope, found, tail = self.path.rpartition("/providers/")
        if not found:
            return "Microsoft.Resources/resourceGroups"
        words = tail.split("/")
        return "/".join([words[0], *words[1::2]])


def _row(path: str, name: str, **facts: Any) -> Row:
    return Row(path, name, **facts)


MODEL: dict[str, Row] = {
    "resources:ResourceGroup": _row(_RG, "resourceGroupName", force=("location",), located=True),
    "authorization:ManagementLockByScope": _row(
        "{scope}/providers/Microsoft.Authorization/locks/{lockName}", "lockName"
    ),
    "authorization:ManagementLockAtResourceGroupLevel": _row(
        f"{_RG}/providers/Microsoft.Authorization/locks/{{lockName}}", "lockName"
    ),
    "authorization:RoleAssignment": _row(
        "{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}",
        "roleAssignmentName",
        force=("principalId", "roleDefinitionId", "principalType"),
        guid=True,
    ),
    "authorization:RoleDefinition": _row(
        "{scope}/providers/Microsoft.Authorization/roleDefinitions/{roleDefinitionId}", "roleDefinitionId", guid=True
    ),
    "authorization:PolicyDefinition": _row(
        "/subscriptions/{subscriptionId}/providers/Microsoft.Authorization/policyDefinitions/{policyDefinitionName}",
        "policyDefinitionName",
    ),
    "authorization:PolicyAssignment": _row(
        "{scope}/providers/Microsoft.Authorization/policyAssignments/{policyAssignmentName}",
        "policyAssignmentName",
        force=("policyDefinitionId",),
    ),
    "storage:StorageAccount": _row(
        _ACCOUNT,
        "accountName",
        force=("isHnsEnabled", "location", "kind"),
        unknown=("primaryEndpoints",),
        located=True,
        lower=True,
    ),
    "storage:BlobServiceProperties": _row(
        f"{_ACCOUNT}/blobServices/{{blobServicesName}}", "blobServicesName", singleton=True
    ),
    "storage:BlobContainer": _row(f"{_ACCOUNT}/blobServices/default/containers/{{containerName}}", "containerName"),
    "storage:BlobContainerImmutabilityPolicy": _row(
        f"{_ACCOUNT}/blobServices/default/containers/{{containerName}}/immutabilityPolicies/{{immutabilityPolicyName}}",
        "immutabilityPolicyName",
    ),
    "storage:ManagementPolicy": _row(f"{_ACCOUNT}/managementPolicies/{{managementPolicyName}}", "managementPolicyName"),
    "network:VirtualNetwork": _row(
        f"{_NET}/virtualNetworks/{{virtualNetworkName}}", "virtualNetworkName", located=True
    ),
    "network:Subnet": _row(f"{_NET}/virtualNetworks/{{virtualNetworkName}}/subnets/{{subnetName}}", "subnetName"),
    "network:VirtualNetworkPeering": _row(
        f"{_NET}/virtualNetworks/{{virtualNetworkName}}/virtualNetworkPeerings/{{virtualNetworkPeeringName}}",
        "virtualNetworkPeeringName",
    ),
    "network:NetworkSecurityGroup": _row(
        f"{_NET}/networkSecurityGroups/{{networkSecurityGroupName}}", "networkSecurityGroupName", located=True
    ),
    "network:SecurityRule": _row(
        f"{_NET}/networkSecurityGroups/{{networkSecurityGroupName}}/securityRules/{{securityRuleName}}",
        "securityRuleName",
    ),
    "network:NetworkInterface": _row(
        f"{_NET}/networkInterfaces/{{networkInterfaceName}}", "networkInterfaceName", located=True
    ),
    "network:PrivateEndpoint": _row(
        f"{_NET}/privateEndpoints/{{privateEndpointName}}",
        "privateEndpointName",
        force=("subnet",),
        unknown=("networkInterfaces", "customDnsConfigs"),
        located=True,
    ),
    "network:PrivateDnsZoneGroup": _row(
        f"{_NET}/privateEndpoints/{{privateEndpointName}}/privateDnsZoneGroups/{{privateDnsZoneGroupName}}",
        "privateDnsZoneGroupName",
    ),
    "network:NatGateway": _row(f"{_NET}/natGateways/{{natGatewayName}}", "natGatewayName", located=True),
    "network:PublicIPAddress": _row(
        f"{_NET}/publicIPAddresses/{{publicIpAddressName}}",
        "publicIpAddressName",
        force=("location", "sku", "publicIPAddressVersion"),
        unknown=("ipAddress",),
        located=True,
    ),
    "network:BastionHost": _row(f"{_NET}/bastionHosts/{{bastionHostName}}", "bastionHostName", located=True),
    "network:RouteTable": _row(f"{_NET}/routeTables/{{routeTableName}}", "routeTableName", located=True),
    "privatedns:PrivateZone": _row(f"{_NET}/privateDnsZones/{{privateZoneName}}", "privateZoneName"),
    "privatedns:VirtualNetworkLink": _row(
        f"{_NET}/privateDnsZones/{{privateZoneName}}/virtualNetworkLinks/{{virtualNetworkLinkName}}",
        "virtualNetworkLinkName",
    ),
    "managedidentity:UserAssignedIdentity": _row(
        f"{_RG}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{{resourceName}}",
        "resourceName",
        force=("location",),
        unknown=("principalId", "clientId", "tenantId"),
        located=True,
    ),
    "compute:AvailabilitySet": _row(
        f"{_COMPUTE}/availabilitySets/{{availabilitySetName}}", "availabilitySetName", located=True
    ),
    "compute:Disk": _row(f"{_COMPUTE}/disks/{{diskName}}", "diskName", located=True),
    "compute:VirtualMachine": _row(
        f"{_COMPUTE}/virtualMachines/{{vmName}}",
        "vmName",
        force=("availabilitySet", "location"),
        unknown=("vmId",),
        located=True,
    ),
    "compute:VirtualMachineScaleSet": _row(
        f"{_COMPUTE}/virtualMachineScaleSets/{{vmScaleSetName}}",
        "vmScaleSetName",
        force=("location",),
        unknown=("uniqueId",),
        located=True,
    ),
    "monitor:ActionGroup": _row(
        f"{_RG}/providers/Microsoft.Insights/actionGroups/{{actionGroupName}}", "actionGroupName"
    ),
    "monitor:MetricAlert": _row(f"{_RG}/providers/Microsoft.Insights/metricAlerts/{{ruleName}}", "ruleName"),
    "monitor:ScheduledQueryRule": _row(
        f"{_RG}/providers/Microsoft.Insights/scheduledQueryRules/{{ruleName}}", "ruleName", located=True
    ),
    "monitor:DiagnosticSetting": _row("{resourceUri}/providers/Microsoft.Insights/diagnosticSettings/{name}", "name"),
    "operationalinsights:Workspace": _row(
        f"{_RG}/providers/Microsoft.OperationalInsights/workspaces/{{workspaceName}}",
        "workspaceName",
        unknown=("customerId",),
        located=True,
    ),
    "operationalinsights:QueryPack": _row(
        f"{_RG}/providers/Microsoft.OperationalInsights/queryPacks/{{queryPackName}}", "queryPackName", located=True
    ),
    "operationalinsights:Query": _row(
        f"{_RG}/providers/Microsoft.OperationalInsights/queryPacks/{{queryPackName}}/queries/{{id}}", "id", guid=True
    ),
    "consumption:Budget": _row("{scope}/providers/Microsoft.Consumption/budgets/{budgetName}", "budgetName"),
    "storagecache:AmlFilesystem": _row(
        f"{_RG}/providers/Microsoft.StorageCache/amlFilesystems/{{amlFilesystemName}}",
        "amlFilesystemName",
        force=("location", "sku", "storageCapacityTiB", "filesystemSubnet", "hsm", "zones"),
        unknown=("clientInfo",),
        located=True,
    ),
    "managedidentity:FederatedIdentityCredential": _row(
        f"{_RG}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{{resourceName}}"
        "/federatedIdentityCredentials/{federatedIdentityCredentialResourceName}",
        "federatedIdentityCredentialResourceName",
    ),
    "keyvault:Key": _row(f"{_RG}/providers/Microsoft.KeyVault/vaults/{{vaultName}}/keys/{{keyName}}", "keyName"),
    "keyvault:Vault": _row(f"{_RG}/providers/Microsoft.KeyVault/vaults/{{vaultName}}", "vaultName", located=True),
}

TOP_LEVEL = (
    "location",
    "tags",
    "sku",
    "kind",
    "identity",
    "zones",
    "extendedLocation",
    "plan",
    "managedBy",
    "eTag",
    "etag",
)
"""Keys that stand beside `properties` in an ARM body; azure-native lifts everything else out of it."""

NESTED = (
    "ipConfigurations",
    "manualPrivateLinkServiceConnections",
    "networkInterfaces",
    "networkInterfaceConfigurations",
    "privateDnsZoneConfigs",
    "privateLinkServiceConnections",
    "securityRules",
    "subnets",
    "virtualNetworkPeerings",
)
"""Lists whose items have a `properties` of their own in ARM, lifted out as well by azure-native."""

BESIDE = ("id", "name", "type", "etag", "zones")
"""Keys of such an item that stand beside its `properties`."""


def find(token: str) -> Row | None:
    """Given a resource token (`azure-native:storage:StorageAccount`), return its row, or None."""
    return MODEL.get(token.removeprefix("azure-native:"))
