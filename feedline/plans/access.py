"""What each identity must be able to do, and what it must be refused: the RBAC gate's questions, derived from the
contract."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.contract import Contract, Identity

PROBE_FOLDER = "_feedline/probe"
"""Probe blobs live here; one small blob a node, overwritten each time, so that nothing piles up where deleting is
refused."""

_ALLOWED = {
    "read": ("list",),
    "write": ("list", "write", "delete"),
    "append": ("list", "write"),
}
_REFUSED = {
    "read": ("write",),
    "write": (),
    "append": ("delete",),
    "": ("list", "write"),
}


@dataclass(frozen=True)
class Probe:
    """One question to the data plane: may `identity` do `operation` (list, write, delete) in `container`? `allowed`
    is the answer that the contract promises."""

    identity: str
    account: str
    container: str
    operation: str
    allowed: bool

    @property
    def title(self) -> str:
        """The probe as a person reads it: `train may list training-data`."""
        return f"{self.identity} {'may' if self.allowed else 'must not'} {self.operation} {self.container}"


def probes(contract: Contract, identity: Identity) -> tuple[Probe, ...]:
    """Given a contract and one identity, return every probe for it: each grant's positives, and the negatives of what
    was not granted. Raise ValueError if a grant names an access this release does not know."""
    granted = {(grant.account, grant.container): grant.access for grant in identity.grants}
    unknown = sorted({access for access in granted.values() if access not in _ALLOWED})
    if unknown:
        raise ValueError(f"identity {identity.name}: unknown access {', '.join(unknown)}; known: {', '.join(_ALLOWED)}")
    found: list[Probe] = []
    for account in contract.accounts:
        for container in account.containers:
            access = granted.get((account.name, container), "")
            where = (identity.name, account.name, container)
            # Writes come before the deletes that clear them away.
            found += [Probe(*where, operation, True) for operation in _ALLOWED.get(access, ())]
            found += [Probe(*where, operation, False) for operation in _REFUSED[access]]
    return tuple(found)
