"""Exceptions suppress one rule on one resource until a day; everything else about them is a violation."""

from datetime import date

import pytest

from policies import exceptions
from policies.judge import EXCEPTIONS, IN_FORCE, Judge
from policies.rule import Resource, Rule
from policies.rules import BY_ID

TODAY = date(2026, 12, 1)
WHOLE = {
    "rule": '"storage-no-shared-key"',
    "stack": '"prod"',
    "resource": '"hot-account"',
    "reason": '"Lustre imports with a key"',
    "approved_by": '"data protection"',
    "expires": "2027-01-31",
}
ACCOUNT = Resource("storage:StorageAccount", "hot-account", {"allowSharedKeyAccess": True})


def register(*tables: dict[str, str]) -> exceptions.Register:
    text = "\n".join("[[exception]]\n" + "\n".join(f"{k} = {v}" for k, v in table.items()) for table in tables)
    return exceptions.parse(text, BY_ID)


def problems(register: exceptions.Register, today: date = TODAY, stack: str = "prod") -> list[str]:
    return [said for _, said in Judge(register, today, stack).exceptions(EXCEPTIONS, [ACCOUNT])]


def suppressed(
    register: exceptions.Register, today: date = TODAY, stack: str = "prod", name: str = "hot-account"
) -> bool:
    rule = BY_ID["storage-no-shared-key"]
    assert isinstance(rule, Rule)
    resource = Resource(ACCOUNT.type, name, ACCOUNT.properties)
    return Judge(register, today, stack).resource(rule, resource) == []


def test_an_exception_suppresses_one_rule_on_one_resource_of_one_stack() -> None:
    whole = register(WHOLE)
    assert suppressed(whole) and not problems(whole)
    assert not suppressed(whole, stack="dev") and not suppressed(whole, name="lake-account")
    other = BY_ID["storage-private-network"]
    assert isinstance(other, Rule) and Judge(whole, TODAY, "prod").resource(other, ACCOUNT)


def test_an_exception_holds_on_its_last_day_and_is_a_violation_on_the_next() -> None:
    whole = register(WHOLE)
    assert suppressed(whole, date(2027, 1, 31))
    assert not suppressed(whole, date(2027, 2, 1))
    assert "expired on 2027-01-31" in problems(whole, date(2027, 2, 1))[0]


def test_an_expired_exception_of_another_stack_stops_nobody_here() -> None:
    assert not problems(register(WHOLE), date(2028, 1, 1), "dev")


def test_an_exception_that_ends_too_far_ahead_is_none() -> None:
    endless = register({**WHOLE, "expires": "2099-01-01"})
    assert not suppressed(endless) and "too far ahead" in problems(endless)[0]


@pytest.mark.parametrize("key", list(WHOLE))
def test_an_exception_that_lacks_a_part_suppresses_nothing_and_says_which(key: str) -> None:
    partial = register({k: v for k, v in WHOLE.items() if k != key})
    assert not suppressed(partial) and key in problems(partial)[0]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("rule", '"storage-no-shard-key"', "there is no rule 'storage-no-shard-key'"),
        ("resource", '"*"', "an exception is for one resource"),
        ("reason", '"  "', "reason is missing"),
        ("approved_by", "7", "approved_by is missing"),
        ("expires", '"next year"', "write a day"),
        ("expires", "2027-01-31T00:00:00Z", "write a day"),
        ("until", "2027-01-31", "unknown key 'until'"),
    ],
)
def test_a_malformed_exception_suppresses_nothing_and_says_why(key: str, value: str, says: str) -> None:
    malformed = register({**WHOLE, key: value})
    assert not suppressed(malformed) and says in problems(malformed)[0]


def test_all_problems_of_all_exceptions_are_told_at_once() -> None:
    found = problems(register({"rule": '"x"'}, {**WHOLE, "reason": '""'}, WHOLE, WHOLE))
    assert len([p for p in found if "exception 1 " in p]) == 6
    assert any("exception 2 (storage-no-shared-key on hot-account): reason" in p for p in found)
    assert any("exception 4" in p and "have an exception already" in p for p in found)


@pytest.mark.parametrize("text", ["[[exception]\n", "exception = 3", "[exception]\nrule = 'x'", "[other]\n"])
def test_a_file_that_is_no_register_is_a_violation(text: str) -> None:
    assert exceptions.parse(text, BY_ID).problems


def test_an_exception_for_a_resource_that_is_not_there_is_a_violation() -> None:
    assert "not in stack prod" in problems(register({**WHOLE, "resource": '"old-account"'}))[0]


def test_what_is_accepted_stays_visible_with_reason_and_end() -> None:
    judge = Judge(register(WHOLE), TODAY, "prod")
    (_, unused), *_ = judge.exceptions(IN_FORCE, [ACCOUNT])
    assert "suppressed nothing" in unused
    rule = BY_ID["storage-no-shared-key"]
    assert isinstance(rule, Rule) and not judge.resource(rule, ACCOUNT)
    ((name, said),) = judge.exceptions(IN_FORCE, [ACCOUNT])
    assert name == "hot-account" and "until 2027-01-31 by data protection: Lustre imports" in said
    assert "suppressed nothing" not in said


def test_a_stack_rule_can_be_excepted_for_one_resource() -> None:
    excepted = register({**WHOLE, "rule": '"storage-diagnostics"'})
    rule = BY_ID["storage-diagnostics"]
    accounts = [Resource(ACCOUNT.type, n, {"accountName": n}) for n in ("hot-account", "lake-account")]
    assert not isinstance(rule, Rule)
    assert [name for name, _ in Judge(excepted, TODAY, "prod").stack(rule, accounts)] == ["lake-account"]


def test_the_register_in_the_pack_is_well_formed() -> None:
    from pathlib import Path

    text = Path(exceptions.__file__).with_name("exceptions.toml").read_text()
    assert exceptions.parse(text, BY_ID).problems == ()
    example = "\n".join(line.removeprefix("# ") for line in text.splitlines()[5:] if line != "#")
    shown = exceptions.parse(example, BY_ID)
    assert shown.problems == () and len(shown.accepted) == 3
