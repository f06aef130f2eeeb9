"""The pack's configuration: levels and parameters, every mistake at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from feedline.errors import SettingsError
from policies import config
from policies.rules import ALL

FILES = sorted((Path(config.__file__).parent / "config").glob("*.json"))


def refused(document: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        config.parse(document)
    return str(raised.value)


def test_without_configuration_every_rule_has_its_own_level() -> None:
    found = config.parse({})
    assert all(found.levels[rule.id] == rule.level for rule in ALL) and not found.values


def test_levels_and_parameters_are_taken_by_rule() -> None:
    found = config.parse({"cost-budget": {"enforcementLevel": "mandatory", "max_usd": 9}, "storage-tls": "advisory"})
    assert (found.levels["cost-budget"], found.levels["storage-tls"]) == ("mandatory", "advisory")
    assert found.values["cost-budget"] == {"max_usd": 9}


@pytest.mark.parametrize("document", [{"storage-no-shared-key": "disabled"}, {"all": "disabled"}])
def test_the_rules_on_account_keys_are_never_switched_off(document: dict[str, str]) -> None:
    assert "storage-no-shared-key: may be lowered to advisory, not disabled" in refused(document)
    assert config.parse({"storage-no-shared-key": "advisory"}).levels["storage-no-shared-key"] == "advisory"


def test_every_mistake_is_told_at_once() -> None:
    said = refused(
        {
            "storage-tsl": "advisory",
            "storage-tls": "off",
            "storage-hns": {"x": 1},
            "storage-soft-delete": {"days": "seven"},
            "governance-regions": {"regions": "norwayeast"},
        }
    )
    assert "5 problems" in said and "hint: storage-tls" in said
    for words in ("'off' is not one of", "storage-hns.x", "storage-soft-delete.days", "governance-regions.regions"):
        assert words in said


def test_a_configuration_is_an_object() -> None:
    assert "JSON object" in refused(["storage-tls"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_configurations_of_the_environments_are_well_formed(file: Path) -> None:
    assert config.parse(json.loads(file.read_text())).levels["cost-budget"] == "mandatory"
