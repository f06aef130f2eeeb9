"""Where things may be, and what keeps their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.read import MACHINES, inside, of, place
from policies.rule import Given, Parameter, Properties, Resource, rule, stack_rule

_VAULT = ("keyvault:Vault",)
_PLACED = (
    "resources:ResourceGroup",
    "storage:StorageAccount",
    "storagecache:AmlFilesystem",
    "compute:Disk",
    *MACHINES,
    "network:VirtualNetwork",
    "network:PrivateEndpoint",
    "managedidentity:UserAssignedIdentity",
    "operationalinsights:Workspace",
    *_VAULT,
)
_TOGETHER = ("storage:StorageAccount", "storagecache:AmlFilesystem", "network:PrivateEndpoint", *MACHINES)


@rule(
    "governance-regions",
    _PLACED,
    "Data stays where it may be.",
    "a location of governance.allowed_regions",
    passes={"location": "Norway East"},
    fails={"location": "westeurope"},
    parameters=(Parameter("regions", "Regions where resources may be; none named = any.", []),),
    told={"regions": ["norwayeast"]},
)
def regions(p: Properties, given: Given) -> Iterator[str]:
    allowed = [place(region) for region in given["regions"]]
    where = p.get("location")
    if allowed and where and place(where) not in (*allowed, "global"):
        yield f"is in {place(where)}; allowed: {', '.join(allowed)}"


def _at(kind: str, name: str, location: str) -> Resource:
    return Resource(kind, name, {"location": location})


@stack_rule(
    "governance-one-region",
    "Between regions every byte is charged, and takes the long way.",
    "the same location for lake, endpoints and nodes",
    passes=[_at(_TOGETHER[0], "lake-account", "Sweden Central"), _at(MACHINES[0], "gpu-0", "swedencentral")],
    fails=[_at(_TOGETHER[0], "lake-account", "westeurope"), _at(MACHINES[0], "gpu-0", "swedencentral")],
)
def one_region(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    placed = [(r, place(r.properties.get("location"))) for r in of(resources, *_TOGETHER)]
    home = next((where for r, where in placed if r.type == "storage:StorageAccount" and where), "")
    for resource, where in placed:
        if home and where and where != home:
            yield resource.name, f"is in {where}, the lake in {home}"


@rule(
    "keyvault-purge-protection",
    _VAULT,
    "A purged key takes the data that it encrypts with it.",
    "enable_purge_protection=True, soft delete left on",
    passes={"properties": {"enablePurgeProtection": True}},
    fails={"properties": {"enableSoftDelete": True}},
)
def purge_protection(p: Properties) -> Iterator[str]:
    vault = inside(p, "properties")
    if vault.get("enablePurgeProtection") is not True:
        yield "purge protection is off: a deleted key can be destroyed at once"
    if vault.get("enableSoftDelete") is False:
        yield "soft delete is off"


@rule(
    "keyvault-rbac",
    _VAULT,
    "Access policies are a second list of rights that nobody reviews.",
    "enable_rbac_authorization=True and no access_policies",
    passes={"properties": {"enableRbacAuthorization": True}},
    fails={"properties": {"accessPolicies": [{"objectId": "…", "permissions": {"keys": ["all"]}}]}},
)
def vault_rbac(p: Properties) -> Iterator[str]:
    if inside(p, "properties").get("enableRbacAuthorization") is not True:
        yield "rights come from access policies, not from role assignments"


@rule(
    "keyvault-closed",
    _VAULT,
    "A vault that answers the internet is asked by it.",
    'public_network_access="Disabled", or network_acls={"default_action": "Deny"}',
    passes={"properties": {"publicNetworkAccess": "Disabled"}},
    fails={"properties": {"publicNetworkAccess": "Enabled"}},
    level="advisory",
)
def vault_closed(p: Properties) -> Iterator[str]:
    vault = inside(p, "properties")
    if (
        str(vault.get("publicNetworkAccess")).lower() != "disabled"
        and inside(vault, "networkAcls").get("defaultAction") != "Deny"
    ):
        yield "answers from every network"
