"""Regions and their pairs, for sovereignty and geo-redundancy. Source: Microsoft Learn, "Azure paired regions", read
2026-12-01."""

from __future__ import annotations

PAIRS = {
    "eastus": "westus",
    "eastus2": "centralus",
    "francecentral": "francesouth",
    "germanywestcentral": "germanynorth",
    "northeurope": "westeurope",
    "norwayeast": "norwaywest",
    "southcentralus": "northcentralus",
    "swedencentral": "swedensouth",
    "uksouth": "ukwest",
    "westeurope": "northeurope",
    "westus2": "westcentralus",
    "westus3": "eastus",
}

_UNPAIRED = (
    "australiaeast austriaeast belgiumcentral brazilsouth canadacentral canadaeast centralindia chilecentral eastasia "
    "indonesiacentral israelcentral italynorth japaneast japanwest koreacentral koreasouth malaysiawest mexicocentral "
    "newzealandnorth polandcentral qatarcentral southafricanorth southeastasia southindia spaincentral "
    "switzerlandnorth switzerlandwest uaenorth uaecentral westindia australiasoutheast southafricawest brazilsoutheast"
)
"""Regions whose pair (if they have one) this project has not looked up: GRS is refused there where it matters."""

REGIONS = frozenset([*PAIRS, *PAIRS.values(), *_UNPAIRED.split()])

_LARGE = (
    "brazilsouth canadacentral centralus eastus eastus2 northcentralus southcentralus westus westus2 westus3 "
    "australiaeast centralindia eastasia japaneast koreacentral southeastasia francecentral germanywestcentral "
    "northeurope norwayeast swedencentral uksouth westeurope southafricanorth"
)
LARGE = frozenset(_LARGE.split(" "))
"""Regions with the large default limits of standard accounts. Source: "Azure subscription and service limits", read
2026-12-01."""
