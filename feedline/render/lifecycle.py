"""Lifecycle rules as an account's management policy has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from feedline.settings.lake import Lifecycle

_ACTIONS = {"cool": "tier_to_cool", "cold": "tier_to_cold", "archive": "tier_to_archive", "delete": "delete"}
_COUNTED = {
    "age": "days_after_modification_greater_than",
    "last_access": "days_after_last_access_time_greater_than",
}


def rules(wanted: Iterable[Lifecycle]) -> list[dict[str, Any]]:
    """Given the rules of the settings, return Azure's, sorted by name so that their order never shows as a change.

    Azure has age and last access only (Microsoft Learn, "Optimize costs by automatically managing the data
    lifecycle"); a rule reaches current blobs of one container: versions and snapshots do not exist with a
    hierarchical namespace.
    """
    found = []
    for rule in wanted:
        action = {_ACTIONS[rule.to]: {_COUNTED[rule.by]: rule.days}}
        found.append(
            {
                "name": f"{rule.container}-{rule.to}-{rule.days}d",
                "enabled": True,
                "type": "Lifecycle",
                "definition": {
                    "actions": {"base_blob": action},
                    "filters": {"blob_types": ["blockBlob"], "prefix_match": [f"{rule.container}/"]},
                },
            }
        )
    return sorted(found, key=lambda rule: str(rule["name"]))
