"""Whatever stands in the settings: they are taken whole, or refused with every reason. Never anything else.

`FEEDLINE_FUZZ=20000` hunts at random, with that many examples a test; without it the examples are few and the same.
"""

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import configuration, given, settings
from hypothesis import strategies as st

from feedline.errors import SettingsError
from feedline.settings import Settings

configuration.set_hypothesis_home_dir(Path(__file__).resolve().parents[2] / ".feedline" / "hypothesis")
HUNT = int(os.environ.get("FEEDLINE_FUZZ", "0"))
VAULTS = "/subscriptions/3f1a2b4c-0001-4d5e-8f60-000000000001/resourceGroups/rg/providers/Microsoft.KeyVault/vaults"
HUB = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network"
ZONES = f"{HUB}/privateDnsZones/privatelink"

WHOLE: dict[str, Any] = {
    "environment": "prod",
    "cluster": "feedline-prod",
    "location": "swedencentral",
    "subscription_id": "3f1a2b4c-0001-4d5e-8f60-000000000001",
    "network": {
        "cidr": "10.41.0.0/16",
        "access": "vpn",
        "peers": [{"cidr": "10.8.0.0/16", "vnet_id": ""}],
        "existing": {
            "vnet_id": f"{HUB}/virtualNetworks/hub",
            "nodes": {"id": f"{HUB}/virtualNetworks/hub/subnets/a", "prefix": "10.9.1.0/24"},
            "endpoints": {"id": f"{HUB}/virtualNetworks/hub/subnets/b", "prefix": "10.9.2.0/24"},
            "ingest": {"id": f"{HUB}/virtualNetworks/hub/subnets/c", "prefix": "10.9.3.0/28"},
            "blob_zone_id": f"{ZONES}.blob.core.windows.net",
            "dfs_zone_id": f"{ZONES}.dfs.core.windows.net",
        },
    },
    "lake": {
        "account": "feedlinedev01",
        "redundancy": "ZRS",
        "classification": "confidential",
        "egress_gbps": 400.0,
        "replicas": ["feedlinedev02"],
        "key": {"vault_id": f"{VAULTS}/kv", "name": "lake"},
        "lifecycle": [{"container": "raw", "days": 90, "to": "cool", "by": "age"}],
        "worm": [{"container": "models", "days": 365}],
    },
    "nodes": {
        "count": 2,
        "size": "Standard_ND96isr_H100_v5",
        "image": "a:b:c:1.0",
        "placement": "uniform",
        "larger_placement_group": True,
        "os_disk": "ephemeral",
        "cache_disk_gib": 4096,
        "ssh_public_key": "ssh-ed25519 AAAA x",
        "unproven": True,
    },
    "packages": {"source": "deb https://packages.example noble main", "held": True},
    "feed": {
        "profile": "custom",
        "dataset": "v1",
        "dataset_bytes": 10**12,
        "record_bytes": 1 << 20,
        "batch": 4,
        "compute_s": 0.42,
        "loaders": 2,
    },
    "ingest": {"size": "", "hours": 24},
    "hot_tier": {"kind": "premium_blob", "account": "feedlinehot01", "exception_until": "2027-03-01"},
    "operators": [
        {"name": "vision", "object_id": "7c0e8a52-0000-4000-8000-000000000001", "container": "raw", "prefix": "v/"}
    ],
    "observability": {"emails": ["oncall@example.com"], "budget_usd": 1000, "budget_start": "2026-12-01"},
    "governance": {"allowed_regions": ["swedencentral"], "audit_shadow_data": True},
}


def nested(depth: int) -> Any:
    """Return a list in a list in a list, this deep."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


# What has been somebody's undoing before, beside what hypothesis thinks of: texts that no terminal shows, numbers that
# no double and no str() holds, dates and networks in other spellings, lists too deep to print.
WORDS = [
    "",
    " ",
    "\0",
    "\x1b[2J",
    "\ud800",
    "²",
    "٣",
    "a\n",
    "/",
    ":::",
    "10.0.0.0/8",
    "255.255.240.0/20",
    "0.0.0.0/0",
    "::/0",
]
WORDS += ["20261201", "2026-W49-1", "2026-02-30", "flexible", "custom", "resnet50", "lustre", "sandbox", "restricted"]
WORDS += ["bastion", "GRS", "Standard_ND96asr_v4", "x" * 5000]
NUMBERS = [0, -1, 8.0, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 10**400]
PLAIN = st.sampled_from([None, True, False, *NUMBERS, *WORDS]) | st.integers() | st.floats() | st.text(max_size=20)
# By name, as hypothesis prints what it draws from, and these cannot be printed.
MONSTERS = {
    "digits": 10**5000,
    "minus": -(10**5000),
    "deep": nested(5000),
    "deeper": {"a": nested(5000)},
    "key": {10**5000: 1},
    "bytes": b"b",
    "pair": (1, 2),
}


def monster(name: str) -> Any:
    """Given its name, return one of them."""
    return MONSTERS[name]


DEEP = st.sampled_from(list(MONSTERS)).map(monster)
KEYS = (
    st.sampled_from(["count", "lake", "nodse", *WORDS, None, True])
    | st.just("digits").map(monster)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    PLAIN | DEEP, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
EDITS = st.sampled_from(["drop", "replace", "insert", "rename", "move"])


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a mapping, at any depth."""
    for one in list(value) if isinstance(value, dict) else range(len(value)):
        yield (*before, one)
        if isinstance(value[one], dict | list):
            yield from places(value[one], (*before, one))


PATHS = list(places(WHOLE))


def at(raw: Any, path: tuple[Any, ...]) -> Any:
    """Return what stands at a path. Raise LookupError or TypeError where an earlier edit took it away."""
    for one in path:
        raw = raw[one]
    return raw


def edit(raw: Any, kind: str, path: tuple[Any, ...], key: Any, value: Any) -> None:
    """Change one place of a mapping."""
    here, last = at(raw, path[:-1]), path[-1]
    old = here[last]
    if kind == "replace":
        here[last] = value
    elif kind == "insert" and isinstance(here, list):
        here.insert(last, value)
    elif kind == "insert":
        here[key] = value
    else:
        del here[last]
        if kind == "rename" and isinstance(here, dict):
            here[key] = old


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a good mapping after one to four edits: dropped, replaced, put in, renamed, or taken from elsewhere."""
    raw = deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        kind, path = draw(EDITS), draw(st.sampled_from(PATHS))
        value = deepcopy(at(WHOLE, draw(st.sampled_from(PATHS)))) if kind == "move" else draw(VALUES)
        try:
            edit(raw, "replace" if kind == "move" else kind, path, draw(KEYS), value)
        except (LookupError, TypeError, AttributeError):
            continue
    return raw


def bounded(examples: int) -> settings:
    """Return how many examples a test has, and that none is judged by its time."""
    return settings(max_examples=HUNT or examples, deadline=None, derandomize=not HUNT, database=None)


def check(raw: Any) -> None:
    """Whole or refused: what is taken says the same again and can be worked with, what is not has its reasons."""
    try:
        taken = Settings.parse(raw)
    except SettingsError as error:
        assert error.problems and all(problem.isprintable() for problem in error.problems)
        assert max(map(len, error.problems)) < 1000, "a problem is a line, not a page"
        return
    assert Settings.parse(asdict(taken)) == taken
    assert taken.workload.required_bytes_per_s > 0 and taken.ingest_size and taken.regions and taken.accounts


def test_the_mapping_that_is_mutated_is_taken() -> None:
    assert Settings.parse(WHOLE).nodes.count == 2


@bounded(30)
@given(VALUES)
def test_anything_at_all_is_refused_with_its_reasons(raw: Any) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.parse(raw)
    assert refused.value.problems


@bounded(70)
@given(mutated())
def test_a_changed_mapping_is_taken_whole_or_refused_with_its_reasons(raw: dict[str, Any]) -> None:
    check(raw)


@bounded(30)
@given(st.sampled_from(PATHS), PLAIN)
def test_one_strange_value_is_taken_whole_or_refused_with_its_reasons(path: tuple[Any, ...], value: Any) -> None:
    raw = deepcopy(WHOLE)
    at(raw, path[:-1])[path[-1]] = value
    check(raw)
