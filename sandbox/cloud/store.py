"""Everything the simulated subscription holds, in one JSON file that is replaced whole at each change."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from sandbox.cloud import rbac, rules, subscription
from sandbox.cloud.ids import ResourceId, is_below, parse
from sandbox.cloud.refusal import Refusal

Event = Literal["put", "delete"]
Resource = dict[str, Any]
Resources = list[Resource]  # the class below has a method named `list`
Events = list[tuple[Event, Resource]]
Listener = Callable[[Event, Resource], None]

ASSIGNMENT = "Microsoft.Authorization/roleAssignments"
DEFINITION = "Microsoft.Authorization/roleDefinitions"
SOFT_DELETED = ("Microsoft.KeyVault/vaults",)
RBAC_DELAY_S = 3.0
"""How long a new role assignment is unknown to the data plane. In Azure it is minutes; what matters is that it is
not nothing."""


class Cloud:
    """The resources of one sandbox. Ids compare without case; bodies have ARM's shape. Safe to use from threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self.rbac_delay_s = RBAC_DELAY_S
        raw = json.loads(path.read_text()) if path.exists() else {}
        self._resources: dict[str, Resource] = raw.get("resources", {})
        self._since: dict[str, float] = raw.get("since", {})
        self._hidden: dict[str, dict[str, Any]] = raw.get("hidden", {})
        self._deleted: dict[str, list[str]] = raw.get("deleted", {})

    # -- reading
    def get(self, rid: str) -> Resource | None:
        """Given a resource id, return the resource, or None."""
        with self._lock:
            found = self._resources.get(rid.lower().rstrip("/"))
            return copy.deepcopy(found) if found else None

    def list(self, type: str | None = None) -> Resources:
        """Given a full type (or nothing), return the resources of that type (or all), by id."""
        with self._lock:
            chosen = [r for r in self._resources.values() if type is None or r["type"].lower() == type.lower()]
            return copy.deepcopy(sorted(chosen, key=lambda r: r["id"].lower()))

    def below(self, scope: str) -> Resources:
        """Given an id, return every resource under it, itself left out, deepest first."""
        with self._lock:
            found = [
                r for key, r in self._resources.items() if is_below(key, scope) and key != scope.lower().rstrip("/")
            ]
            return copy.deepcopy(sorted(found, key=lambda r: -r["id"].count("/")))

    def secret(self, rid: str) -> dict[str, Any]:
        """Given a resource id, return what was written to it but is never answered (customData)."""
        with self._lock:
            return copy.deepcopy(self._hidden.get(rid.lower(), {}))

    # -- changing
    def put(self, rid: str, body: Resource) -> Resource:
        """Given an id and a body, create or update the resource as ARM would and return it. Raise Refusal."""
        try:
            identity = parse(rid)
        except ValueError as error:
            raise Refusal(400, "InvalidResourceId", str(error)) from error
        with self._lock:
            before, secrets = self.get(identity.rid), self.secret(identity.rid)
            resource = self._shape(identity, body, before)
            try:
                effects = rules.accept(self, identity, resource, before)
            except Refusal:
                self._hidden[identity.rid.lower()] = secrets  # what is refused leaves nothing behind
                raise
            events: Events = []
            for extra in [resource, *effects]:
                key = extra["id"].lower()
                if key not in self._resources:
                    self._since[key] = time.time()
                self._resources[key] = extra
                events.append(("put", copy.deepcopy(extra)))
            self._save()
        self._tell(events)
        return copy.deepcopy(resource)

    def delete(self, rid: str) -> bool:
        """Given an id, delete the resource and everything below it; return whether it was there. Raise Refusal
        (locks, use)."""
        with self._lock:
            found = self.get(rid)
            if found is None:
                return False
            rules.release(self, found)
            doomed = [*self.below(rid), *rules.dependants(self, found), found]
            for resource in doomed:
                if resource["type"] in SOFT_DELETED:
                    self._deleted.setdefault(resource["type"], []).append(resource["name"].lower())
                for table in (self._resources, self._since, self._hidden):
                    table.pop(resource["id"].lower(), None)
            self._save()
        self._tell([("delete", resource) for resource in doomed])
        return True

    def write(self, resources: Resources) -> None:
        """Given resources as ARM itself changes them (a state, a count), replace those that are still there: at once,
        and unchecked."""
        with self._lock:
            there = [copy.deepcopy(r) for r in resources if r["id"].lower() in self._resources]
            self._resources |= {resource["id"].lower(): resource for resource in there}
            self._save()
        self._tell([("put", copy.deepcopy(resource)) for resource in there])

    def hide(self, rid: str, facts: dict[str, Any]) -> None:
        """Given a resource id, keep facts about it that are never answered. For rules, while their resource is put."""
        with self._lock:
            self._hidden.setdefault(rid.lower(), {}).update(facts)

    def deleted(self, kind: str) -> set[str]:
        """Given a type whose names outlive it (Key Vault), return the names, in lower case, that are still taken."""
        with self._lock:
            return set(self._deleted.get(kind, []))

    def subscription(self) -> subscription.Facts:
        """Return what this subscription may have, as it is now."""
        return subscription.read(self._path.with_name("subscription.json"))

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(event, resource)` after each change, outside the lock."""
        self._listeners.append(listener)

    # -- access
    def decide(self, principal_id: str, data_action: str, scope: str) -> bool:
        """Return whether the principal may do this data action at this scope, by the assignments in force by now."""
        return self._decide(principal_id, data_action, scope, data=True)

    def decide_action(self, principal_id: str, action: str, scope: str) -> bool:
        """The same for a control-plane action."""
        return self._decide(principal_id, action, scope, data=False)

    def _decide(self, principal_id: str, action: str, scope: str, *, data: bool) -> bool:
        now = time.time()
        with self._lock:
            assignments = [
                resource
                for key, resource in self._resources.items()
                if resource["type"] == ASSIGNMENT and now - self._since.get(key, 0.0) >= self.rbac_delay_s
            ]
            return rbac.decide(principal_id, action, scope, assignments, self.role, data=data)

    def role(self, guid: str) -> dict[str, Any] | None:
        """Given a role's GUID, return its definition's properties, built in or custom."""
        if guid in rbac.BUILT_IN:
            return rbac.BUILT_IN[guid]
        with self._lock:
            for resource in self._resources.values():
                if resource["type"] == DEFINITION and resource["name"].lower() == guid:
                    return dict(resource["properties"])
        return None

    # -- inside
    def _shape(self, identity: ResourceId, body: Resource, before: Resource | None) -> Resource:
        kept = {key: copy.deepcopy(value) for key, value in body.items() if key not in ("id", "name", "type")}
        name = before["name"] if before else identity.name
        rid = before["id"] if before else identity.rid
        resource = {"id": rid, "name": name, "type": rules.canonical(identity.type), **kept}
        resource["properties"] = {**(resource.get("properties") or {})}
        for profile in (resource["properties"], resource["properties"].get("virtualMachineProfile") or {}):
            custom = (profile.get("osProfile") or {}).pop("customData", None)
            if custom is not None:
                self._hidden.setdefault(identity.rid.lower(), {})["customData"] = custom
        return resource

    def _save(self) -> None:
        state = {"resources": self._resources, "since": self._since, "hidden": self._hidden, "deleted": self._deleted}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_text(json.dumps(state))
        part.replace(self._path)

    def _tell(self, events: Events) -> None:
        for event, resource in events:
            for listener in self._listeners:
                listener(event, resource)
