"""What is guessed to hold of a function, by names and types; and whether a call is what annotations allow."""

import pytest

from remora.operations.test.cases.property_guesses import (
    Property,
    best_property,
    is_known_property,
    properties_of,
)
from remora.operations.test.inputs.type_check import contradicts
from remora.operations.test.target_function import TargetFunction, find_target

PAIR = """
def encode(text: str) -> bytes:
    return text.encode()


def decode(data: bytes) -> str:
    return data.decode()


def sort_items(items: list[int]) -> list[int]:
    return sorted(items)


def camel2snake(word):
    return word.lower()


def snake2camel(word):
    return word.upper()


class Shelf:
    def sort_items(self, items):
        return sorted(items)
"""


def subject(source: str, node: str) -> TargetFunction:
    found = find_target("mod.py", source.encode(), node, lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


def claims(node: str, source: str = PAIR) -> list[tuple[str, dict[str, str]]]:
    groups = properties_of(subject(source, node))
    return [(group[0].claims[0], group[0].given) for group in groups]


def test_inverse_functions_are_found_by_name() -> None:
    found = claims("encode")
    assert found[0] == ("decode(encode(text)) == text", {"text": "st.text()"})
    assert found[1] == ("encode(decode(data)) == data", {"data": "st.binary()"})
    assert claims("decode")[0][0] == "encode(decode(data)) == data"
    assert claims("camel2snake")[0][0] == "snake2camel(camel2snake(word)) == word"


def test_only_what_is_no_accident_is_guessed() -> None:
    found = [claim for claim, _ in claims("sort_items")]
    assert found == ["sort_items(sort_items(items)) == sort_items(items)"]


@pytest.mark.parametrize(
    "source",
    [
        "def is_open(a: str):\n    return a\n",
        "def strip(a: bool) -> bool:\n    return not a\n",
        "def strip(a: int):\n    return a > 3\n",
        "def to_path(a: str) -> str:\n    return a\n",
    ],
)
def test_only_functions_that_normalize_are_taken_for_idempotent(source: str) -> None:
    assert claims(source[4:].partition("(")[0], source) == []


def test_what_goes_out_must_fit_in_to_be_the_same_twice() -> None:
    assert not any("encode(encode(" in claim for claim, _ in claims("encode"))


def test_domains_become_narrower() -> None:
    (group, *_) = properties_of(subject(PAIR, "encode"))
    assert [one.given["text"] for one in group][:2] == ["st.text()", "st.text('abc xyz')"]


def test_but_only_for_what_is_undone() -> None:
    groups = properties_of(subject(PAIR, "sort_items"))
    assert [len(group) for group in groups] == [1] * len(groups)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int | None", "st.integers()"),
        ("'list[str]'", "st.lists(st.text())"),
        ("dict[str, int]", "st.dictionaries(st.text(), st.integers())"),
        ("tuple[int, bool]", "st.tuples(st.integers(), st.booleans())"),
        ("Literal['r', 'w']", "st.sampled_from(['r', 'w'])"),
    ],
)
def test_by_type(annotation: str, expected: str) -> None:
    found = claims("clean", f"def clean(a: {annotation}):\n    return a\n")
    assert {given["a"] for _, given in found} == {expected}


@pytest.mark.parametrize(
    "source", ["def clean(a: Shop):\n    return a\n", "def clean(*a):\n    return a\n"]
)
def test_of_what_is_not_understood_nothing_is_guessed(source: str) -> None:
    assert claims("clean", source) == []


def test_methods_have_none() -> None:
    assert properties_of(subject(PAIR, "Shelf.sort_items")) == []


GIVEN = {"a": "st.integers()"}


def a_property(ending: str, given: dict[str, str] = GIVEN) -> Property:
    return Property(ending=ending, given=given, claims=(ending,))


def test_the_one_that_notices_most_with_what_others_notice_beside_it() -> None:
    held = [a_property("x"), a_property("y"), a_property("z", {"a": "st.text()"}), a_property("w")]
    killed = [{1}, {1, 2}, {3, 4}, {5}]
    found = best_property(held, [frozenset(each) for each in killed])
    assert found is not None
    best, told = found
    assert (best.ending, best.claims) == ("y", ("y", "w"))
    assert told == frozenset({1, 2, 5})


def test_what_detects_nothing_is_nothing() -> None:
    assert best_property([a_property("x")], [frozenset()]) is None


def test_only_what_could_be_guessed_is_known() -> None:
    groups = properties_of(subject(PAIR, "encode"))
    assert is_known_property(groups[0][0], groups)
    for change in ({"claims": ("exec('x')",)}, {"claims": ()}, {"given": {"text": "evil()"}}):
        said = {"ending": "round_trip", "given": groups[0][0].given, "claims": groups[0][0].claims}
        assert not is_known_property(Property(**{**said, **change}), groups)  # type: ignore[arg-type]


FITTING = """
from typing import Literal, Optional, Union

Number = Union[float, str]


def f(a: Number, b: "int | None" = 1, c: Literal["r"] = "r", d: int = None, e=0, g: Shop = 2):
    return a
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(1)", False), ("f('x')", False), ("f(None)", True), ("f([1])", True), ("f(1, None)", False),
        ("f(1, 'x')", True), ("f(1, c='w')", True), ("f(1, d=None)", False), ("f(1, e=None)", False),
        ("f(1, g='x')", False), ("f(unknown)", False),
    ],
)  # fmt: skip
def test_what_annotations_allow(call: str, expected: bool) -> None:
    assert contradicts(subject(FITTING, "f"), call) == expected


def test_none_is_not_asserted_unless_the_function_mentions_it() -> None:
    assert contradicts(subject("def f(a):\n    return a\n", "f"), "f(None)")
    assert not contradicts(subject("def f(a):\n    return a is None\n", "f"), "f(None)")
