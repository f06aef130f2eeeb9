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
