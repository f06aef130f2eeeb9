"""The RBAC gate: a yes needs repeated yes, a no needs the authorisation's own no, and silence is neither."""

from feedline.plans.access import Probe
from feedline.verdict import Status
from feedline.verdicts.access import Attempt, judge, settled

MAY = Probe("train", "acct", "training-data", "list", True)
MUST_NOT = Probe("train", "acct", "training-data", "write", False)
OK = Attempt("ok", 200, "", "", 0.1)
REFUSED = Attempt("http", 403, "AuthorizationPermissionMismatch", "no", 0.1)
FIREWALL = Attempt("http", 403, "AuthorizationFailure", "no", 0.1)
NO_NAME = Attempt("network", 0, "NameNotResolved", "no such host", 0.1)


def test_three_successes_in_a_row_settle_and_pass_a_grant() -> None:
    assert not settled(MAY, [OK, OK]) and settled(MAY, [REFUSED, OK, OK, OK])
    assert judge(MAY, [REFUSED, OK, OK, OK], "gpu-0").status is Status.PASS


def test_one_success_among_refusals_is_still_spreading() -> None:
    assert not settled(MAY, [OK, REFUSED, OK])
    assert judge(MAY, [OK, REFUSED, OK], "gpu-0").reason == "UNSETTLED"


def test_a_grant_that_stays_refused_fails_as_a_missing_role() -> None:
    verdict = judge(MAY, [REFUSED] * 9, "gpu-0")
    assert (verdict.status, verdict.reason) == (Status.FAIL, "ROLE_MISSING")


def test_a_refusal_by_role_passes_the_negative() -> None:
    assert settled(MUST_NOT, [REFUSED, REFUSED])
    assert judge(MUST_NOT, [REFUSED, REFUSED], "gpu-0").status is Status.PASS


def test_a_firewall_refusal_is_not_a_no() -> None:
    verdict = judge(MUST_NOT, [FIREWALL] * 3, "gpu-0")
    assert (verdict.status, verdict.reason) == (Status.INVALID, "NOT_A_ROLE_REFUSAL")


def test_a_name_that_does_not_resolve_is_not_a_no() -> None:
    verdict = judge(MUST_NOT, [NO_NAME] * 3, "gpu-0")
    assert settled(MUST_NOT, [NO_NAME] * 3)
    assert (verdict.status, verdict.reason) == (Status.INVALID, "NO_ANSWER")


def test_a_success_where_nothing_was_granted_fails() -> None:
    verdict = judge(MUST_NOT, [OK], "gpu-0")
    assert (verdict.status, verdict.reason) == (Status.FAIL, "TOO_MUCH_ACCESS")


def test_a_probe_that_was_never_sent_does_not_pass() -> None:
    assert judge(MAY, [], "gpu-0").status is Status.INVALID
