"""Every rule passes its good example and refuses its bad one; nothing unknown is a pass."""

import base64
import copy
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy

from policies.rule import Given, Resource, Rule, short, values
from policies.rules import ALL, BY_ID, RESOURCE_RULES, STACK_RULES

TODAY = date(2026, 12, 1)
ND = {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}}


def given(rule: Any, **told: Any) -> Given:
    return Given(TODAY, "prod", "feedline", {**values(rule), **rule.told, **told})


def judged(rule_id: str, subject: Any, **told: Any) -> list[Any]:
    rule = BY_ID[rule_id]
    return list(rule.judge(subject, given(rule, **told)))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_passes_its_good_example_and_refuses_its_bad_one(rule: Any) -> None:
    assert list(rule.judge(rule.passes, given(rule))) == [] and list(rule.judge(rule.fails, given(rule)))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_says_why_and_what_to_do(rule: Any) -> None:
    assert rule.reason.endswith(".") and rule.fix and not rule.fix.endswith(".")
    assert rule.level in ("mandatory", "advisory")


def test_no_two_rules_have_the_same_id() -> None:
    assert len(BY_ID) == len(ALL) == len(RESOURCE_RULES) + len(STACK_RULES)


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.parameters], ids=lambda rule: rule.id)
def test_a_parameter_has_a_default_of_the_type_its_schema_says(rule: Any) -> None:
    for parameter in rule.parameters:
        kind = "array" if isinstance(parameter.default, list) else "number"
        assert parameter.schema["type"] == kind and parameter.schema["description"] == parameter.says


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value can be unknown: at every leaf, and at everything that holds one."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def unknown_at(properties: Any, path: tuple[Any, ...]) -> Any:
    """As the SDK hands them over when the value at this path is not known in preview."""
    changed = copy.deepcopy(properties)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = UNKNOWN_STRING_VALUE
    return unknown_checking_proxy(changed)


def raises_unknown(rule: Any, subject: Any) -> bool:
    try:
        list(rule.judge(subject, given(rule)))
    except UnknownValueError:
        return True
    return False


@pytest.mark.parametrize("rule", RESOURCE_RULES, ids=lambda rule: rule.id)
def test_a_rule_that_reads_an_unknown_value_does_not_pass(rule: Rule) -> None:
    """Some value of its examples decides; when that one is unknown, the rule cannot say and raises."""
    subjects = [unknown_at(example, path) for example in (rule.passes, rule.fails) for path in paths(example)]
    assert any(raises_unknown(rule, subject) for subject in subjects)


@pytest.mark.parametrize("rule", STACK_RULES, ids=lambda rule: rule.id)
def test_a_stack_rule_that_reads_an_unknown_value_does_not_pass(rule: Any) -> None:
    counts = {"network-endpoint-names"}  # it counts resources and reads no value
    subjects = [
        [*example[:index], Resource(r.type, r.name, unknown_at(r.properties, path)), *example[index + 1 :]]
        for example in (list(rule.passes), list(rule.fails))
        for index, r in enumerate(example)
        for path in paths(r.properties)
    ]
    assert any(raises_unknown(rule, subject) for subject in subjects) is (rule.id not in counts)


@pytest.mark.parametrize("rule", RESOURCE_RULES, ids=lambda rule: rule.id)
def test_a_rule_reads_what_the_sdk_hands_over_as_it_reads_mappings(rule: Rule) -> None:
    for example in (rule.passes, rule.fails):
        plain, proxied = rule.judge(example, given(rule)), rule.judge(unknown_checking_proxy(example), given(rule))
        assert plain == proxied


MACHINE = {"compute:VirtualMachine", "compute:VirtualMachineScaleSet"}


@pytest.mark.parametrize(
    "rule",
    [r for r in RESOURCE_RULES if set(r.types) >= MACHINE and {"osProfile", "storageProfile"} & set(r.fails)],
    ids=lambda rule: rule.id,
)
def test_what_holds_for_a_machine_holds_for_the_machines_of_a_scale_set(rule: Rule) -> None:
    assert rule.judge({"virtualMachineProfile": rule.fails}, given(rule)) == rule.judge(rule.fails, given(rule))
    assert rule.judge({"virtualMachineProfile": rule.passes}, given(rule)) == []


def test_a_scale_set_whose_nodes_get_public_addresses_is_refused() -> None:
    nic = {"ipConfigurations": [{"publicIPAddressConfiguration": {"name": "pip"}}]}
    profile = {"networkProfile": {"networkInterfaceConfigurations": [nic]}}
    assert judged("network-no-public-address", {"virtualMachineProfile": profile})


GALLERY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/i"


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        ({"id": GALLERY}, False),
        ({"id": f"{GALLERY}/versions/1.0.0"}, True),
        ({"id": f"{GALLERY}/versions/latest"}, False),
        ({"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/managed"}, True),
        ({"publisher": "p"}, False),
        ({"version": "1.0"}, True),
    ],
)
def test_an_image_is_pinned_by_a_version_and_by_nothing_less(image: dict[str, str], pinned: bool) -> None:
    assert (judged("compute-pinned-image", {"storageProfile": {"imageReference": image}}) == []) is pinned


@pytest.mark.parametrize(
    ("kind", "description", "passes"),
    [
        ("ServicePrincipal", None, True),
        ("Group", "operator vision-team", True),
        ("User", "operator jane", True),
        ("Group", None, False),
        (None, "operator jane", False),
        ("ForeignGroup", "operator x", False),
    ],
)
def test_people_are_named_and_everything_else_is_a_service_principal(
    kind: str | None, description: str | None, passes: bool
) -> None:
    assert (judged("identity-principal-type", {"principalType": kind, "description": description}) == []) is passes


@pytest.mark.parametrize(
    ("source", "passes"),
    [
        ("10.1.2.0/24", True),
        ("10.1.2.3", True),
        ("VirtualNetwork", True),
        ("203.0.113.7", False),
        ("0.0.0.0/0", False),
        ("fd00::/8", False),
        ("AzureCloud", False),
    ],
)
def test_a_source_is_known_when_it_lies_in_a_known_network(source: str, passes: bool) -> None:
    found = {"direction": "Inbound", "access": "Allow", "sourceAddressPrefix": source}
    assert (judged("network-known-sources", found) == []) is passes


def test_a_rule_that_denies_may_name_the_internet() -> None:
    denied = {"direction": "Inbound", "access": "Deny", "sourceAddressPrefix": "Internet"}
    for rule in ("network-no-inbound", "network-known-sources"):
        assert judged(rule, {"securityRules": [denied]}) == []


def policy(prefixes: list[str], action: str, count: str) -> dict[str, Any]:
    definition = {"actions": {"baseBlob": {action: {count: 9}}}, "filters": {"prefixMatch": prefixes}}
    return {"policy": {"rules": [{"name": "r", "enabled": True, "definition": definition}]}}


@pytest.mark.parametrize(
    ("prefixes", "touches"),
    [(["raw/"], False), (["checkpoints/"], True), (["check"], True), ([], True), (["checkpoints-old/"], False)],
)
def test_a_lifecycle_rule_touches_checkpoints_by_name_by_beginning_or_for_want_of_a_prefix(
    prefixes: list[str], touches: bool
) -> None:
    found = policy(prefixes, "delete", "daysAfterModificationGreaterThan")
    assert bool(judged("storage-lifecycle-spares-checkpoints", found)) is touches


def test_mounted_data_never_goes_to_archive_and_unmounted_data_may() -> None:
    by_access = "daysAfterLastAccessTimeGreaterThan"
    assert judged("cost-cool-under-mount", policy(["training-data/"], "tierToArchive", by_access))
    assert not judged("cost-cool-under-mount", policy(["artifacts/"], "tierToArchive", by_access))


def test_a_node_says_where_its_endpoint_is_missing() -> None:
    accounts = [Resource("storage:StorageAccount", n, {"accountName": n}) for n in ("lake", "replica")]
    doors = [
        Resource(
            "network:PrivateEndpoint",
            f"{name}-{kind}",
            {"privateLinkServiceConnections": [{"groupIds": [kind], "privateLinkServiceId": f"/x/{name.upper()}"}]},
        )
        for name, kind in (("lake", "blob"), ("lake", "dfs"), ("replica", "blob"))
    ]
    assert judged("storage-both-endpoints", [*accounts, *doors]) == [("replica", "has no private endpoint for dfs")]


def test_nodes_in_two_availability_sets_are_two_fabrics_also_before_the_sets_have_ids() -> None:
    unknown = unknown_checking_proxy({**ND, "availabilitySet": {"id": UNKNOWN_STRING_VALUE}})
    nodes = [
        Resource("compute:VirtualMachine", name, unknown, "", {"availabilitySet": [f"urn:pulumi:s::p::t::{made}"]})
        for name, made in (("gpu-0", "one"), ("gpu-1", "two"))
    ]
    assert "one, two" in judged("compute-one-fabric", nodes)[0][1]


def test_two_hundred_and_one_nodes_do_not_fit_an_availability_set() -> None:
    node = {**ND, "availabilitySet": {"id": "/a/set"}}
    nodes = [Resource("compute:VirtualMachine", f"gpu-{i}", node) for i in range(201)]
    assert "201 nodes" in judged("compute-one-fabric", nodes)[0][1]
    assert not judged("compute-one-fabric", nodes[:200])


def test_a_parked_scale_set_has_no_gpus_to_pay_for() -> None:
    parked = Resource(
        "compute:VirtualMachineScaleSet", "gpu", {"sku": {"name": "Standard_ND96isr_H100_v5", "capacity": 0}}
    )
    assert not judged("cost-budget", [parked]) and not judged("feed-planned", [parked])


def test_the_ingest_node_alone_needs_neither_budget_nor_feed_plan() -> None:
    ingest = Resource("compute:VirtualMachine", "ingest-0", {"hardwareProfile": {"vmSize": "Standard_D16s_v5"}})
    assert not judged("cost-budget", [ingest]) and not judged("feed-planned", [ingest])


def test_a_budget_above_the_environments_maximum_is_refused() -> None:
    budget = Resource("consumption:Budget", "budget", {"amount": 900000.0})
    assert judged("cost-budget", [budget], max_usd=500000) == [("budget", "allows 900,000 USD, more than 500,000")]
    assert not judged("cost-budget", [budget])


def test_custom_data_above_64_kb_is_refused() -> None:
    fits, not_so = (base64.b64encode(b"#" * size).decode() for size in (65536, 65537))
    assert not judged("compute-custom-data", {"osProfile": {"customData": fits}})
    assert "65537 B" in judged("compute-custom-data", {"osProfile": {"customData": not_so}})[0]


def test_only_bootstrap_makes_federated_credentials_and_only_for_one_subject() -> None:
    rule = BY_ID["identity-no-federation"]
    assert rule.judge(rule.passes, Given(TODAY, "s", "feedline", values(rule)))
    assert not list(rule.judge(rule.passes, Given(TODAY, "s", "feedline-bootstrap", values(rule))))


def test_keys_that_were_accepted_until_today_are_accepted_today_and_no_longer() -> None:
    def tagged(day: str) -> dict[str, Any]:
        return {"allowSharedKeyAccess": True, "tags": {"feedline-exception-until": day}}

    assert not judged("storage-keys-dated", tagged("2026-12-01"))
    assert judged("storage-keys-dated", tagged("2026-11-30"))
    assert judged("storage-keys-dated", tagged("2031-01-01"))
    assert judged("storage-keys-dated", tagged("soon"))
    assert not judged("storage-keys-dated", {"allowSharedKeyAccess": False})


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("azure-native:storage:StorageAccount", "storage:StorageAccount"),
        ("azure-native:storage/v20240101:StorageAccount", "storage:StorageAccount"),
        ("azure-native_storage_v20240101:storage/v20240101:StorageAccount", "storage:StorageAccount"),
        ("feedline:feed:FeedPlan", "feedline:feed:FeedPlan"),
        ("aws:s3:Bucket", ""),
    ],
)
def test_a_type_is_recognised_in_each_of_its_forms_and_others_are_none_of_our_business(token: str, kind: str) -> None:
    assert short(token) == kind
