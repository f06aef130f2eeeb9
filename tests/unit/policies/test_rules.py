"""Every rule passes one good resource and refuses one bad; nothing unknown is a pass."""

import base64
from typing import Any

import pytest

from policies.rule import Resource, short
from policies.rules import RESOURCE_RULES, STACK_RULES

OWNER, READER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
GROUP = "/subscriptions/s/resourceGroups/g"
CONTAINER = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/a/blobServices/default/containers/c"
ND = {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}}


def role(guid: str) -> str:
    return f"/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions/{guid}"


def image(version: str) -> dict[str, Any]:
    return {"storageProfile": {"imageReference": {"publisher": "p", "version": version}}}


def custom(text: str) -> dict[str, Any]:
    return {"osProfile": {"customData": base64.b64encode(text.encode()).decode()}}


def inbound(source: str) -> dict[str, Any]:
    return {
        "name": "r",
        "direction": "Inbound",
        "access": "Allow",
        "sourceAddressPrefix": source,
        "destinationPortRange": "22",
    }


LOGIN = {"osProfile": {"linuxConfiguration": {"disablePasswordAuthentication": True}}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "storage-hns": ({"isHnsEnabled": True}, {}),
    "storage-tls": ({"minimumTlsVersion": "TLS1_2"}, {"minimumTlsVersion": "TLS1_0"}),
    "storage-https-only": ({}, {"enableHttpsTrafficOnly": False}),
    "storage-no-anonymous": ({"allowBlobPublicAccess": False}, {}),
    "storage-private-network": ({"publicNetworkAccess": "Disabled"}, {}),
    "storage-no-shared-key": ({"allowSharedKeyAccess": False}, {}),
    "storage-no-cross-tenant": ({"allowCrossTenantReplication": False}, {"allowCrossTenantReplication": True}),
    "storage-no-local-users": ({}, {"isSftpEnabled": True}),
    "storage-hot-path": ({"kind": "StorageV2", "accessTier": "Hot"}, {"kind": "StorageV2", "accessTier": "Cool"}),
    "storage-container-private": ({"publicAccess": "None"}, {"publicAccess": "Blob"}),
    "storage-no-versioning-on-hns": ({}, {"isVersioningEnabled": True}),
    "storage-soft-delete": ({"deleteRetentionPolicy": {"enabled": True}}, {}),
    "network-no-inbound": ({"securityRules": [inbound("VirtualNetwork")]}, {"securityRules": [inbound("*")]}),
    "network-no-inbound-rule": (inbound("10.0.0.0/8"), inbound("0.0.0.0/0")),
    "network-no-public-address": ({"ipConfigurations": [{}]}, {"ipConfigurations": [{"publicIPAddress": {"id": "x"}}]}),
    "network-explicit-outbound": ({"defaultOutboundAccess": False}, {}),
    "network-rdma-range": (
        {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
        {"addressSpace": {"addressPrefixes": ["172.16.4.0/22"]}},
    ),
    "identity-no-broad-role": ({"roleDefinitionId": role(READER)}, {"roleDefinitionId": role(OWNER)}),
    "identity-no-subscription-scope": ({"scope": CONTAINER}, {"scope": "/subscriptions/s"}),
    "identity-container-scope": (
        {"roleDefinitionId": role(READER), "scope": CONTAINER},
        {"roleDefinitionId": role(READER), "scope": GROUP},
    ),
    "identity-principal-type": ({"principalType": "ServicePrincipal"}, {}),
    "identity-no-wildcard": ({"permissions": [{"actions": ["a/read"]}]}, {"permissions": [{"dataActions": ["a/*"]}]}),
    "compute-pinned-image": (image("1.0"), image("latest")),
    "compute-no-password": (LOGIN, {}),
    "compute-managed-identity": ({"identity": {"userAssignedIdentities": ["i"]}}, {}),
    "compute-custom-data": (custom("#cloud-config"), custom("AccountKey=abc")),
    "compute-no-hdd": ({}, {"storageProfile": {"osDisk": {"managedDisk": {"storageAccountType": "Standard_LRS"}}}}),
    "compute-no-hdd-disk": ({"sku": {"name": "Premium_LRS"}}, {"sku": {"name": "Standard_LRS"}}),
    "compute-no-reservation": (ND, {**ND, "capacityReservation": {"id": "x"}}),
    "compute-no-zone": (ND, {**ND, "zones": ["1"]}),
    "compute-no-flexible": (
        {"orchestrationMode": "Uniform", "sku": {"name": "Standard_ND96isr_H100_v5"}},
        {"orchestrationMode": "Flexible", "sku": {"name": "Standard_ND96isr_H100_v5"}},
    ),
    "cost-geo-redundancy": ({"sku": {"name": "Standard_ZRS"}}, {"sku": {"name": "Standard_GRS"}}),
    "cost-owner-tag": ({"tags": {"feedline": "c"}}, {}),
}


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    assert {rule.id for rule in RESOURCE_RULES} == set(CASES)


@pytest.mark.parametrize("rule", RESOURCE_RULES, ids=lambda rule: rule.id)
def test_a_rule_passes_the_good_resource_and_refuses_the_bad_one(rule: Any) -> None:
    good, bad = CASES[rule.id]
    assert list(rule.check(good)) == [] and list(rule.check(bad))


@pytest.mark.parametrize("rule", [*RESOURCE_RULES, *STACK_RULES], ids=lambda rule: rule.id)
def test_a_rule_says_why_and_what_to_do(rule: Any) -> None:
    assert rule.reason.endswith(".") and rule.fix and rule.level in ("mandatory", "advisory")


@pytest.mark.parametrize("rule", RESOURCE_RULES, ids=lambda rule: rule.id)
def test_an_unknown_value_raises_and_so_is_never_a_pass(rule: Any) -> None:
    class Unknown(dict[str, Any]):
        """Stands for Pulumi's proxy: touching a value that is not known in preview raises."""

        def get(self, *_: Any) -> Any:
            raise LookupError("unknown in preview")

    with pytest.raises(LookupError):
        list(rule.check(Unknown()))


def found(rule_id: str, *resources: Resource) -> list[tuple[str, str]]:
    return list(next(rule for rule in STACK_RULES if rule.id == rule_id).check(list(resources)))


ACCOUNT = Resource("storage:StorageAccount", "lake", {})


def endpoint(group: str) -> Resource:
    return Resource(
        "network:PrivateEndpoint",
        group,
        {"privateLinkServiceConnections": [{"groupIds": [group], "privateLinkServiceId": "a"}]},
    )


def test_a_lake_needs_both_endpoints() -> None:
    assert found("storage-both-endpoints", ACCOUNT, endpoint("blob"))
    assert not found("storage-both-endpoints", ACCOUNT, endpoint("blob"), endpoint("dfs"))


def test_a_lake_needs_a_lock() -> None:
    assert found("storage-locked", ACCOUNT)
    assert not found(
        "storage-locked", ACCOUNT, Resource("authorization:ManagementLockByScope", "l", {"level": "CanNotDelete"})
    )


def test_every_endpoint_needs_its_zone_group() -> None:
    assert found("network-endpoint-names", endpoint("blob"))
    assert not found("network-endpoint-names", endpoint("blob"), Resource("network:PrivateDnsZoneGroup", "z", {}))


def test_nodes_that_train_together_share_an_availability_set() -> None:
    alone, together = (
        Resource("compute:VirtualMachine", "a", ND),
        Resource("compute:VirtualMachine", "b", {**ND, "availabilitySet": {"id": "x"}}),
    )
    assert [name for name, _ in found("compute-one-fabric", alone, together)] == ["a"]


@pytest.mark.parametrize(
    "token",
    ["azure-native:storage:StorageAccount", "azure-native:storage/v20240101:StorageAccount"],
)
def test_a_type_is_recognised_in_each_of_its_forms(token: str) -> None:
    assert short(token) == "storage:StorageAccount"


def test_other_providers_are_none_of_our_business() -> None:
    assert short("aws:s3:Bucket") == ""
