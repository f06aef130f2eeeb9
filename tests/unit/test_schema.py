"""The one reader of settings and contract: typed values, and every mistake with its path."""

from dataclasses import dataclass
from typing import Any

import pytest

from feedline.schema import build, key


@dataclass(frozen=True)
class Wheel:
    """A part, to be nested."""

    inches: int = key("Its size.", 28, lambda value: "" if value > 0 else "is too small")
    brand: str | None = key("Who made it.", "x", None, None)


@dataclass(frozen=True)
class Bicycle:
    """Something with every kind of field."""

    name: str = key("Its name.", "blue")
    wheels: tuple[Wheel, ...] = key("Its wheels.", None)
    weight: float = key("Kilograms.", 12.5, None, 10.0)
    electric: bool = key("Whether a motor helps.", False, None, False)


def read(kind: Any, raw: Any) -> tuple[Any, list[str]]:
    problems: list[str] = []
    return build(kind, raw, problems), problems


def test_a_whole_mapping_becomes_a_typed_value() -> None:
    found, problems = read(Bicycle, {"name": "b", "wheels": [{"inches": 28}, {"inches": 29, "brand": "z"}]})
    assert problems == []
    assert found == Bicycle("b", (Wheel(28), Wheel(29, "z")))


def test_every_mistake_is_told_with_where_it_stands() -> None:
    found, problems = read(
        Bicycle, {"nmae": "b", "wheels": [{"inches": 28}, {"inches": 0}, {"inches": "28"}], "electric": 1}
    )
    assert found is None
    assert problems == [
        "nmae: unknown key (hint: name?)",
        "name: missing (example: blue)",
        "wheels[1].inches: 0 is too small",
        "wheels[2].inches: '28' is not a whole number",
        "electric: 1 is not true or false",
    ]


def test_paths_are_shown_as_the_caller_wants() -> None:
    problems: list[str] = []
    build(Wheel, {"inches": 0}, problems, path="front", name=lambda path: f"bike:{path}")
    assert problems == ["bike:front.inches: 0 is too small"]


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (int, 8.0, 8),
        (int, 10**400, 10**400),
        (float, 3, 3.0),
        (str, "", ""),
        (bool, False, False),
        (str | None, None, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_of_the_right_kind_is_taken(kind: Any, raw: Any, value: Any) -> None:
    assert read(kind, raw) == (value, [])


@pytest.mark.parametrize(
    ("kind", "raw", "told"),
    [
        (int, 8.5, "8.5 is not a whole number"),
        (int, True, "True is not a whole number"),
        (int, float("inf"), "inf is not a whole number"),
        (int, float("nan"), "nan is not a whole number"),
        (float, float("nan"), "nan is not a number"),
        (float, float("inf"), "inf is not a number"),
        (float, 10**400, "is not a number"),
        (float, "1", "'1' is not a number"),
        (str, 1, "1 is not a text"),
        (bool, "yes", "'yes' is not true or false"),
        (Wheel, [], "expected a mapping"),
        (Wheel, None, "expected a mapping"),
        (tuple[int, ...], "12", "expected a list"),
        (tuple[int, ...], {"a": 1}, "expected a list"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_of_another_kind_is_refused(kind: Any, raw: Any, told: str) -> None:
    value, problems = read(kind, raw)
    assert value is None and len(problems) == 1 and told in problems[0]


@pytest.mark.parametrize(
    "raw", [10**5000, "x" * 5000, {10**5000: 1}, ["\x1b[2J"] * 999], ids=["int", "text", "key", "list"]
)
@pytest.mark.parametrize("kind", [float, Wheel, tuple[int, ...]], ids=["number", "mapping", "list"])
def test_a_value_nobody_can_print_is_shown_in_one_short_line(kind: Any, raw: Any) -> None:
    _, problems = read(kind, raw)
    assert problems and all(len(problem) < 250 and problem.isprintable() for problem in problems)


def test_a_list_too_deep_for_the_stack_is_shown_cut_off() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert read(Wheel, deep)[1] == ["the whole: expected a mapping, got [[[[...]]]]"]


def test_a_key_that_would_steer_the_terminal_is_shown_escaped() -> None:
    assert read(Wheel, {"inches": 1, "\x1b[2J": 1})[1] == ["'\\x1b[2J': unknown key"]


def test_a_check_is_not_asked_about_a_value_of_the_wrong_kind() -> None:
    assert read(Wheel, {"inches": "big"})[1] == ["inches: 'big' is not a whole number"]
