"""Names: the private-link chain exists exactly where zone, link and record do; else NXDOMAIN, as in Azure."""

from sandbox.gateway.dns import names, render
from sandbox.gateway.endpoints import wanted_addresses
from tests.doors.sandbox.small_cloud import ACCOUNT, NET, machine, small_cloud

BLOB, PRIVATE = "lake01.blob.core.windows.net", "lake01.privatelink.blob.core.windows.net"
ZONE = f"{NET}/privateDnsZones/privatelink.blob.core.windows.net"
PUBLIC = "203.0.113.10"


def test_an_account_with_endpoint_zone_link_and_record_is_an_alias_of_its_private_name() -> None:
    known = names(small_cloud())
    assert known.aliases[BLOB] == PRIVATE and known.addresses[PRIVATE] == "10.0.3.4"
    assert known.addresses["lake01.privatelink.dfs.core.windows.net"] == "10.0.3.5"
    assert BLOB not in known.addresses


def test_an_account_without_an_endpoint_has_its_public_address() -> None:
    cloud = small_cloud()
    cloud.delete(f"{NET}/privateEndpoints/lake01-blob")
    known = names(cloud)
    assert known.addresses[BLOB] == PUBLIC and BLOB not in known.aliases


def test_a_zone_that_is_not_linked_leaves_the_private_name_public() -> None:
    cloud = small_cloud()
    cloud.delete(f"{ZONE}/virtualNetworkLinks/vnet")
    known = names(cloud)
    assert known.aliases[BLOB] == PRIVATE and known.addresses[PRIVATE] == PUBLIC


def test_a_linked_zone_without_the_record_answers_nothing_instead_of_the_public_address() -> None:
    cloud = small_cloud()
    cloud.delete(f"{ZONE}/A/lake01")
    known = names(cloud)
    assert known.aliases[BLOB] == PRIVATE and PRIVATE not in known.addresses


def test_any_record_of_a_linked_zone_resolves() -> None:
    cloud = small_cloud()
    zone = f"{NET}/privateDnsZones/corp.example"
    cloud.put(zone, {"properties": {}})
    cloud.put(f"{zone}/A/mirror", {"properties": {"aRecords": [{"ipv4Address": "10.0.9.9"}]}})
    assert "mirror.corp.example" not in names(cloud).addresses
    cloud.put(f"{zone}/virtualNetworkLinks/vnet", {"properties": {}})
    assert names(cloud).addresses["mirror.corp.example"] == "10.0.9.9"


def test_a_node_has_its_bare_name_and_the_one_in_azures_internal_domain() -> None:
    cloud = small_cloud()
    machine(cloud, "gpu-1", "10.0.1.5", [])
    known = names(cloud)
    assert known.addresses["gpu-1"] == known.addresses["gpu-1.internal.cloudapp.net"] == "10.0.1.5"


def test_the_resolver_has_no_upstream_and_refuses_every_other_name_at_once() -> None:
    conf, hosts = render(names(small_cloud()))
    lines = conf.splitlines()
    assert {"local=/#/", "no-resolv", "no-hosts", "listen-address=168.63.129.16"} <= set(lines)
    assert not [line for line in lines if line.startswith("server=")]
    assert f"cname={BLOB},{PRIVATE}" in lines and f"10.0.3.4 {PRIVATE}" in hosts.splitlines()
    assert "203.0.113.20 packages.feedline.internal" in hosts.splitlines()


def test_a_new_node_changes_the_hosts_file_only_so_the_resolver_does_not_restart() -> None:
    cloud = small_cloud()
    before = render(names(cloud))
    machine(cloud, "gpu-1", "10.0.1.5", [])
    after = render(names(cloud))
    assert before[0] == after[0] and before[1] != after[1]


def test_the_bridge_needs_the_fixed_addresses_and_every_endpoints() -> None:
    fixed = {"169.254.169.254", "168.63.129.16", "203.0.113.10", "203.0.113.20"}
    assert wanted_addresses(small_cloud()) == fixed | {"10.0.3.4", "10.0.3.5"}


def test_a_deleted_account_has_no_name() -> None:
    cloud = small_cloud()
    cloud.delete(ACCOUNT)
    known = names(cloud)
    assert BLOB not in known.aliases and BLOB not in known.addresses
