"""Values that cross the border are JSON; a result is kept as it was."""

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value
from remora.pym import outputs as module
from remora.pym.json_values import MAX_LEVELS, NotJsonError, TooLargeError, to_json_value

LIMIT = 10_000


def kept(value: Any, *, limit: int) -> Any:
    return module.to_output(value, limit=limit)


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary(max_size=9)
) | st.text(st.characters(), max_size=20)
keys = leaves | st.tuples(leaves, leaves)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_is_of_text_bytes_and_numbers_stays_and_can_be_stored(value: Any) -> None:
    made = kept(value, limit=LIMIT)

    assert repr(made) == repr(value)
    assert decode_value(encode_value(made)) == value


@given(st.sets(keys, max_size=6))
def test_a_set_is_a_list_in_an_order_of_its_own(value: set[Any]) -> None:
    made = kept([value, frozenset([*value][::-1])], limit=LIMIT)

    assert made[0] == made[1]
    assert len(made[0]) == len(value)


def test_sets_within_a_set_are_sorted_too() -> None:
    value = {frozenset({2, 1}), frozenset({0, "a"}), (1, frozenset({4, 3}))}

    assert kept(value, limit=LIMIT) == [[0, "a"], [1, 2], [1, [3, 4]]]


def test_tuples_are_lists_and_times_are_text() -> None:
    value = ((1, ()), date(2025, 1, 2), datetime(2025, 1, 2, tzinfo=UTC), time(3), timedelta(1))

    assert kept(value, limit=LIMIT) == [
        [1, []], "2025-01-02", "2025-01-02T00:00:00+00:00", "03:00:00", "1 day, 0:00:00",
    ]  # fmt: skip


def test_the_value_itself_is_left_alone() -> None:
    value = {"a": [(1,), {2}]}

    assert kept(value, limit=LIMIT) == {"a": [[1], [2]]}
    assert value == {"a": [(1,), {2}]}


@pytest.mark.parametrize(
    "large",
    ["x" * 1000, "ä" * 500, b"x" * 800, 10**1200, [0] * 500, {"x" * 1000: 1}, {("x" * 1000,): 1}],
)
def test_more_than_the_limit_is_too_large(large: Any) -> None:
    with pytest.raises(TooLargeError):
        kept([large], limit=999)
    assert kept([large], limit=9999) == [large]


@pytest.mark.parametrize("way", [kept, to_json_value])
def test_shared_values_are_counted_each_time(way: Callable[..., Any]) -> None:
    value: Any = ["text"]
    for _ in range(40):
        value = [value, value]

    with pytest.raises(TooLargeError):
        way(value, limit=LIMIT)


def test_a_value_that_holds_itself_ends() -> None:
    value: list[Any] = []
    value.append(value)

    assert repr(kept(value, limit=LIMIT)).count("[") == MAX_LEVELS


def nested(kind: Any, levels: int) -> Any:
    value = kind()
    for _ in range(levels):
        value = kind([value])
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "a value of type object"),
        ([1j], "a value of type complex"),
        ({frozenset(): 1}, "a dict with a key of type frozenset"),
        (nested(frozenset, 30), "sets nested deeper than 20"),
        ({nested(tuple, 30): 1}, "keys nested deeper than 20"),
    ],
)
def test_anything_else_is_refused_by_its_kind(value: Any, says: str) -> None:
    with pytest.raises(NotJsonError, match=says):
        kept(value, limit=LIMIT)


def test_what_is_not_a_number_stays_so() -> None:
    assert math.isnan(kept([math.nan], limit=LIMIT)[0])


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
host_values = st.recursive(
    scalars | st.dates() | st.sets(st.integers(-9, 9)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.dictionaries(st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(host_values)
def test_the_outcome_is_json_and_stays_itself(value: Any) -> None:
    once = to_json_value(value, limit=LIMIT)

    assert to_json_value(once, limit=LIMIT) == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once
    assert msgspec.json.decode(msgspec.json.encode(to_json_value(once, limit=LIMIT))) == once


@given(st.lists(st.text(max_size=10) | st.integers(), max_size=10))
def test_the_limit_is_close_to_the_bytes_of_the_json(value: list[Any]) -> None:
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    assert to_json_value(value, limit=2 * size + 40) == to_json_value(value, limit=LIMIT)


def test_dates_and_spans_are_text() -> None:
    given_values = [date(2025, 1, 2), datetime(2025, 1, 2, tzinfo=UTC), timedelta(seconds=3)]

    assert to_json_value(given_values, limit=LIMIT) == [
        "2025-01-02",
        "2025-01-02T00:00:00+00:00",
        "0:00:03",
    ]


def test_an_integer_of_many_digits_is_text() -> None:
    assert to_json_value(10**5000, limit=LIMIT).startswith("0x")


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(NotJsonError, match="deeper"):
        to_json_value(value, limit=LIMIT)


@pytest.mark.parametrize("value", [b"x", object(), {(1,): 2}, [1j]])
def test_types_that_json_lacks_are_refused(value: Any) -> None:
    with pytest.raises(NotJsonError, match="of type"):
        to_json_value(value, limit=LIMIT)


def test_keys_that_become_equal_are_refused() -> None:
    with pytest.raises(NotJsonError, match="two keys that are '1'"):
        to_json_value({1: "a", "1": "b"}, limit=LIMIT)


def test_lone_surrogates_which_the_sandbox_does_not_take_are_spelled_out() -> None:
    assert to_json_value({"a\udcff": ["\ud800x", "é"]}, limit=100) == {
        "a\\udcff": ["\\ud800x", "é"]
    }
