"""The program without an engine: a monitor that notes what is sent, so that many variants cost a second each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi.runtime
import pytest
import yaml
from pulumi.runtime.stack import wait_for_rpcs

from infra.program import declare
from scripts.places import CHECKOUT


@dataclass
class Noted(pulumi.runtime.Mocks):
    """What was registered: inputs by logical name in the wire's names, and what was said."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    contract: dict[str, Any] = field(default_factory=dict)

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        """Note a resource and answer as Azure would: its inputs, and what only Azure knows."""
        self.resources[args.name], self.types[args.name] = deepcopy(args.inputs), args.typ
        only_azure_knows: dict[str, Any] = {
            "name": args.name,
            "principalId": f"p-{args.name}",
            "clientId": f"c-{args.name}",
            "vmId": f"v-{args.name}",
            "primaryEndpoints": {kind: f"https://{args.name}.{kind}/" for kind in ("blob", "dfs")},
            "clientInfo": {"mgsAddress": "10.40.5.4", "mountCommand": "", "lustreVersion": ""},
        }
        identity = args.inputs.get("identity")
        if identity:  # Azure answers a map where a list was sent
            known = {"clientId": "c", "principalId": "p"}
            only_azure_knows["identity"] = {
                **identity,
                "userAssignedIdentities": dict.fromkeys(identity["userAssignedIdentities"], known),
            }
        return f"id-{args.name}", {**args.inputs, **only_azure_knows}

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[Any, Any]:
        """The program asks nothing."""
        raise AssertionError(f"a call to {args.token}")


Declare = Callable[..., Noted]


@pytest.fixture(scope="session")
def declared() -> Declare:
    """Run the program for a stack's settings with changes (`{"nodes.count": 3}`). The same run is made once: the SDK
    takes seconds for each, so tests of one module share their variants."""
    known: dict[str, Noted] = {}

    def run(changes: dict[str, Any] | None = None, stack: str = "sandbox") -> Noted:
        label = json.dumps([changes, stack])
        if label not in known:
            with pytest.MonkeyPatch.context() as patch:
                known[label] = _declare(changes or {}, stack, patch)
        return known[label]

    return run


def _declare(changes: dict[str, Any], stack: str, patch: pytest.MonkeyPatch) -> Noted:
    config = yaml.safe_load((CHECKOUT / f"Pulumi.{stack}.yaml").read_text())["config"]
    for path, value in changes.items():
        section, _, key = path.partition(".")
        if key:
            config.setdefault(f"feedline:{section}", {})[key] = value
        else:
            config[f"feedline:{section}"] = value
    config["feedline:nodes"].pop("ssh_public_key_file", None)
    config["feedline:nodes"].setdefault("ssh_public_key", "ssh-ed25519 AAAA test")
    flat = {k: v if isinstance(v, str) else json.dumps(v) for k, v in config.items()}
    patch.setenv("PULUMI_CONFIG", json.dumps(flat))
    patch.setenv("FEEDLINE_SSH_PROXY_COMMAND", "true %h %p")
    noted, exported = Noted(), dict[str, Any]()
    for level in ("info", "warn"):
        patch.setattr(pulumi.log, level, lambda text, *_, **__: noted.said.append(text))
    patch.setattr(pulumi, "export", lambda name, value: exported.update({name: value}))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    pulumi.runtime.set_mocks(noted, project="feedline", stack=stack, preview=False)
    pulumi.runtime.set_all_config(flat)

    async def all_of_it() -> None:
        declare()
        await wait_for_rpcs()
        noted.contract = await exported["contract"].future()

    loop.run_until_complete(all_of_it())
    return noted
