"""The data plane's front door: DNS, TLS, authorization by RBAC, and one Azurite per storage account behind it.

Used by the controller, on its event loop, inside the sandbox's network namespace, with every address of
`wanted_addresses(cloud)` already on the bridge (later ones – private endpoints – may appear at any time):

    tokens = Tokens.open(layout.keys / "token.pem")
    gateway = Gateway(layout, cloud, tokens, azurite_argv=["node", ".../azurite/dist/src/blob/main.js"])
    await gateway.start()       # authorizer on Layout.authorizer_socket, IMDS, dnsmasq, nginx
    ...                         # it follows the cloud by itself (Cloud.subscribe)
    await gateway.apply()       # only where the caller must wait until DNS and stores agree with the cloud
    await gateway.stop()

`ensure_ca(layout)` makes `Layout.ca_pem`; the seed of a node's disk may call it before the gateway starts.
`gateway.azurites.store_list/store_get/store_put/store_delete` reach a store behind the gateway's back, for faults;
`tokens.life_s` is the life of new tokens (seconds), for faults.
"""

from __future__ import annotations

from sandbox.gateway.endpoints import FIXED_ADDRESSES, wanted_addresses
from sandbox.gateway.service import Gateway
from sandbox.gateway.tls import ensure_ca

__all__ = ["FIXED_ADDRESSES", "Gateway", "ensure_ca", "wanted_addresses"]
