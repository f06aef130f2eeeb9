"""The RBAC gate: does the data plane answer as the contract promises - both the yes and the no?

A yes counts after repeated successes on fresh connections, because Azure's front ends learn a role assignment one by
one. A no counts only when it is the authorisation that refuses (403 AuthorizationPermissionMismatch): a name that
does not resolve or a firewall says nothing about roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from feedline.plans.access import Probe
from feedline.verdict import Status, Verdict

REFUSED = "AuthorizationPermissionMismatch"
SUCCESSES_NEEDED = 3
REFUSALS_NEEDED = 2
GIVE_UP_AFTER = 3
"""This many equal answers in a row that are neither a yes nor a refusal end the waiting: asking more would not change
them."""


@dataclass(frozen=True)
class Attempt:
    """One request on a fresh connection. `kind` is `ok`, `http` (the service answered with an error) or `network` (no
    answer).

    `status` is the HTTP status, `code` Azure's error code or the kind of network failure, `seconds` the time it took.
    """

    kind: str
    status: int
    code: str
    detail: str
    seconds: float

    @property
    def refused(self) -> bool:
        """Whether the role-based authorisation said no."""
        return self.kind == "http" and self.status == 403 and self.code == REFUSED


def settled(probe: Probe, attempts: Sequence[Attempt]) -> bool:
    """Given a probe and its attempts so far, return whether asking again can be left off."""
    if not attempts:
        return False
    if probe.allowed and _streak(attempts, lambda a: a.kind == "ok") >= SUCCESSES_NEEDED:
        return True
    if not probe.allowed:
        if attempts[-1].kind == "ok":
            return True
        if _streak(attempts, lambda a: a.refused) >= REFUSALS_NEEDED:
            return True
    other = attempts[-1]
    return (
        not other.refused and other.kind != "ok" and _streak(attempts, lambda a: a.code == other.code) >= GIVE_UP_AFTER
    )


def judge(probe: Probe, attempts: Sequence[Attempt], node: str) -> Verdict:
    """Given a probe and everything that was answered, return the verdict for that node."""
    last = attempts[-1] if attempts else Attempt("network", 0, "NotAsked", "the probe was never sent", 0.0)
    status, reason, message, hint = _conclude(probe, attempts, last)
    waited = sum(attempt.seconds for attempt in attempts)
    evidence = {
        "probe": asdict(probe),
        "attempts": len(attempts),
        "request_seconds": round(waited, 3),
        "last": asdict(last),
    }
    return Verdict("access", probe.title, node, status, reason, message, hint, evidence=evidence)


def _conclude(probe: Probe, attempts: Sequence[Attempt], last: Attempt) -> tuple[Status, str, str, str]:
    answered = f"{last.status} {last.code}" if last.kind == "http" else last.code
    if last.kind == "network":
        return (
            Status.INVALID,
            "NO_ANSWER",
            f"no answer from {probe.account}: {last.code} ({last.detail}); this says nothing about roles",
            "check the private endpoint, its DNS zone link and the NSG with `fab doctor`",
        )
    if probe.allowed:
        if _streak(attempts, lambda a: a.kind == "ok") >= SUCCESSES_NEEDED:
            return Status.PASS, "OK", f"{SUCCESSES_NEEDED} successes in a row on fresh connections", ""
        if last.refused:
            return (
                Status.FAIL,
                "ROLE_MISSING",
                f"still refused ({answered}) after {len(attempts)} attempts",
                f"give identity {probe.identity} its role on container {probe.container} (`pulumi up`), "
                "then run `fab access` again",
            )
        if last.kind == "ok":
            return (
                Status.INVALID,
                "UNSETTLED",
                "successes and refusals alternate: the assignment is still spreading",
                "run `fab access` again",
            )
        return Status.INVALID, "OTHER_ERROR", f"answered {answered}: {last.detail}", _hint_for(last.code)
    if last.kind == "ok":
        return (
            Status.FAIL,
            "TOO_MUCH_ACCESS",
            "the request succeeded, although the contract grants it to nobody here",
            f"remove the role that lets {probe.identity} {probe.operation} in {probe.container}; "
            "look for assignments above the container",
        )
    if last.refused:
        return Status.PASS, "OK", f"refused with {answered}", ""
    return (
        Status.INVALID,
        "NOT_A_ROLE_REFUSAL",
        f"answered {answered}, which is not a refusal by role",
        _hint_for(last.code),
    )


def _hint_for(code: str) -> str:
    return {
        "AuthorizationFailure": "the firewall refused: not through the private endpoint; see `fab doctor`",
        "ContainerNotFound": "the container is missing; run `pulumi up`",
        "InvalidAuthenticationInfo": "the token was not accepted; check the node's clock and tenant with `fab doctor`",
        "IdentityUnavailable": "the node could not get a token: is the identity assigned to the VM?",
        "KeyBasedAuthenticationNotPermitted": "a key or SAS was sent; only managed identities are used here",
    }.get(code, "run `fab doctor` and read its network and identity lines")


def _streak(attempts: Sequence[Attempt], holds: Callable[[Attempt], bool]) -> int:
    count = 0
    for attempt in reversed(attempts):
        if not holds(attempt):
            break
        count += 1
    return count
