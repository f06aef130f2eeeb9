"""The network's resolver at 168.63.129.16: private DNS zones with Azure's CNAME chain, node names, NXDOMAIN for all
else.

An account that has a private endpoint is an alias of its `privatelink` name, and that name resolves to the endpoint's
address only
where the private zone is linked *and* has the record. A linked zone without the record answers NXDOMAIN, as in Azure.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox.cloud.machines import machines
from sandbox.gateway.child import Child
from sandbox.gateway.endpoints import (
    DNS_ADDRESS,
    DOMAIN,
    GROUPS,
    PACKAGES_ADDRESS,
    PACKAGES_HOST,
    PUBLIC_ADDRESS,
    accounts,
    private_endpoints,
)
from sandbox.identity.instance import nic_addresses, nics_of

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.layout import Layout

ZONE_TYPE = "Microsoft.Network/privateDnsZones"
LINK_TYPE = f"{ZONE_TYPE}/virtualNetworkLinks"
RECORD_TYPE = f"{ZONE_TYPE}/A"
INTERNAL_DOMAIN = "internal.cloudapp.net"
TTL_S = 10  # the TTL of records made by a private DNS zone group


@dataclass(frozen=True)
class Names:
    """What the resolver knows: addresses by name, and aliases (name → canonical name)."""

    addresses: dict[str, str]
    aliases: dict[str, str]


def names(cloud: Cloud) -> Names:
    """Given the cloud, return every name that resolves in its network."""
    addresses = {PACKAGES_HOST: PACKAGES_ADDRESS, **_nodes(cloud)}
    zones = dict(_linked_zones(cloud))
    for zone, records in zones.items():
        addresses |= {f"{name}.{zone}" if name != "@" else zone: address for name, address in records.items()}
    aliases: dict[str, str] = {}
    with_endpoint = {(endpoint.account, endpoint.group) for endpoint in private_endpoints(cloud)}
    for account in accounts(cloud):
        for group in GROUPS:
            public, private = f"{account}.{group}.{DOMAIN}", f"{account}.privatelink.{group}.{DOMAIN}"
            if (account, group) not in with_endpoint:
                addresses[public] = PUBLIC_ADDRESS
                continue
            aliases[public] = private
            if f"privatelink.{group}.{DOMAIN}" not in zones:
                addresses[private] = PUBLIC_ADDRESS
    return Names(addresses, aliases)


def render(known: Names) -> tuple[str, str]:
    """Given the names, return dnsmasq's (configuration, hosts file). Only aliases are in the configuration, which needs
    a restart.
    """
    lines = [
        f"listen-address={DNS_ADDRESS}",
        "bind-dynamic",
        "user=root",
        "no-resolv",
        "no-hosts",
        "no-poll",
        "log-facility=-",
        f"local-ttl={TTL_S}",
        "local=/#/",
        *(f"cname={alias},{canonical}" for alias, canonical in sorted(known.aliases.items())),
    ]
    hosts = [f"{address} {name}" for name, address in sorted(known.addresses.items())]
    return "\n".join(lines) + "\n", "\n".join(hosts) + "\n"


class Dns:
    """dnsmasq, told of changes: a new hosts file costs a signal, new aliases a restart."""

    def __init__(self, layout: Layout, cloud: Cloud, program: str = "dnsmasq") -> None:
        self._layout, self._cloud = layout, cloud
        self._conf, self._hosts = layout.gateway / "dnsmasq.conf", layout.gateway / "hosts"
        argv = [program, "--keep-in-foreground", f"--conf-file={self._conf}", f"--addn-hosts={self._hosts}"]
        self._child = Child(
            "dnsmasq", [*argv, f"--pid-file={layout.gateway / 'dnsmasq.pid'}"], layout.logs / "dnsmasq.log"
        )
        self._rendered: tuple[str, str] | None = None

    async def start(self) -> None:
        """Write both files and start dnsmasq. Raise RuntimeError if it cannot be run or ends at once."""
        self._layout.gateway.mkdir(parents=True, exist_ok=True)
        self._rendered = self._write(render(names(self._cloud)))
        await self._child.start()
        await asyncio.sleep(0.1)  # dnsmasq ends at once, or not at all
        if self._child.pid is None:
            raise RuntimeError(f"dnsmasq ended at once: see {self._layout.logs / 'dnsmasq.log'}")

    async def apply(self) -> bool:
        """Bring dnsmasq up to the cloud as it is now; return whether anything changed."""
        wanted, running = render(names(self._cloud)), self._rendered
        if running is None or wanted == running:
            return False
        self._rendered = self._write(wanted)
        if wanted[0] == running[0]:
            self._child.signal(signal.SIGHUP)
        else:
            await self._child.stop()
            await self._child.start()
        return True

    async def stop(self) -> None:
        """Stop dnsmasq."""
        self._rendered = None
        await self._child.stop()

    def _write(self, rendered: tuple[str, str]) -> tuple[str, str]:
        """Replace both files; dnsmasq never reads half of one."""
        for path, text in zip((self._conf, self._hosts), rendered, strict=True):
            fresh = path.with_suffix(".new")
            fresh.write_text(text, encoding="ascii")
            os.replace(fresh, path)
        return rendered


def _nodes(cloud: Cloud) -> dict[str, str]:
    """Return each VM's names (bare, and in Azure's internal domain) with its address."""
    found: dict[str, str] = {}
    for vm in machines(cloud):
        addresses = [address for nic in nics_of(cloud, vm) for address in nic_addresses(nic)]
        host = (vm.get("properties", {}).get("osProfile") or {}).get("computerName") or vm["name"]
        for name in {host.lower(), vm["name"].lower()} if addresses else ():
            found |= {name: addresses[0], f"{name}.{INTERNAL_DOMAIN}": addresses[0]}
    return found


def _linked_zones(cloud: Cloud) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (zone, its A records by relative name) of each private zone that is linked to a network."""
    linked = {link["id"].lower().rsplit("/virtualnetworklinks/", 1)[0] for link in cloud.list(LINK_TYPE)}
    for zone in cloud.list(ZONE_TYPE):
        if zone["id"].lower() in linked:
            yield zone["name"].lower(), dict(_records(cloud, zone))


def _records(cloud: Cloud, zone: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (relative name, address) of a zone's A records; an endpoint's zone group made most of them."""
    for record in cloud.list(RECORD_TYPE):
        if record["id"].lower().startswith(zone["id"].lower() + "/"):
            properties = record.get("properties", {})
            for entry in properties.get("aRecords") or properties.get("ARecords") or ():
                yield record["name"].lower(), entry["ipv4Address"]
