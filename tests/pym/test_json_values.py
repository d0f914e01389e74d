"""Values that cross the border are JSON, whatever they were."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pym.json_values import NotJsonError, TooLargeError, to_json_value

LIMIT = 10_000

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars | st.dates() | st.sets(st.integers(-9, 9)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
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


def test_shared_values_are_counted_each_time() -> None:
    value: Any = ["text"]
    for _ in range(60):
        value = [value, value]

    with pytest.raises(TooLargeError):
        to_json_value(value, limit=LIMIT)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(NotJsonError, match="deeper"):
        to_json_value(value, limit=LIMIT)


@pytest.mark.parametrize("value", [b"x", object(), {(1,): 2}, [1j]])
def test_types_that_json_lacks_are_refused(value: Any) -> None:
    with pytest.raises(NotJsonError, match="of type"):
        to_json_value(value, limit=LIMIT)


def test_lone_surrogates_which_the_sandbox_does_not_take_are_spelled_out() -> None:
    assert to_json_value({"a\udcff": ["\ud800x", "é"]}, limit=100) == {
        "a\\udcff": ["\\ud800x", "é"]
    }
