"""Where the cloud's resources put a node on the fabric."""

from typing import Any

import pytest

from sandbox.nodes.network import Nic
from sandbox.nodes.placement import gateways, nic_of

NETWORK = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network"
VNET = f"{NETWORK}/virtualNetworks/v"
VM: dict[str, Any] = {
    "id": "/vm",
    "name": "gpu-0",
    "properties": {"networkProfile": {"networkInterfaces": [{"id": f"{NETWORK}/networkInterfaces/nic"}]}},
}


class Book(dict[str, dict[str, Any]]):
    """A cloud that only answers."""


def cloud(address: str | None = "10.42.1.7", *, inline: bool = False) -> Book:
    subnet = {"id": f"{VNET}/subnets/nodes", "name": "nodes", "properties": {"addressPrefix": "10.42.1.0/24"}}
    configuration = {"properties": {"privateIPAddress": address, "subnet": {"id": f"{VNET}/subnets/nodes"}}}
    nic = {"id": f"{NETWORK}/networkInterfaces/nic", "properties": {"ipConfigurations": [configuration]}}
    vnet = {"id": VNET, "properties": {"subnets": [subnet] if inline else []}}
    return Book({r["id"]: r for r in ([nic, vnet] if inline else [nic, vnet, subnet])})  # type: ignore[misc]


@pytest.mark.parametrize("inline", [False, True])
def test_the_nic_and_its_subnet_say_address_and_gateway(inline: bool) -> None:
    assert nic_of(cloud(inline=inline), VM, 50) == Nic("10.42.1.7", 24, "10.42.1.1", 50)


def test_names_on_the_fabric_fit_and_differ() -> None:
    one, other = Nic("10.42.1.7", 24, "10.42.1.1", 1), Nic("10.42.1.71", 24, "10.42.1.1", 1)
    assert one.port != other.port
    assert len(one.port) <= 15
    assert one.mac == "00:0d:3a:2a:01:07"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Book(), "does not exist"),
        (cloud(None), "no privateIPAddress"),
        (cloud("10.9.9.9"), "not in its subnet"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(found: Book, message: str) -> None:
    with pytest.raises(LookupError, match=message):
        nic_of(found, VM, 50)


def test_every_subnet_has_its_first_address_on_the_bridge() -> None:
    subnets = [{"properties": {"addressPrefix": "10.42.1.0/24"}}, {"properties": {"addressPrefixes": ["10.42.2.0/26"]}}]
    vnets = [{"properties": {"subnets": [{"name": "in", "properties": {"addressPrefix": "10.42.3.0/24"}}]}}]
    assert gateways(subnets, vnets) == {"10.42.1.1/24", "10.42.2.1/26", "10.42.3.1/24"}
