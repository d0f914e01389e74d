"""Values that cross the border are JSON, whatever they were."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pym.json_values import NotPlainError, TooLargeError, plain

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
    once = plain(value, limit=LIMIT)

    assert plain(once, limit=LIMIT) == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once
    assert msgspec.json.decode(msgspec.json.encode(plain(once, limit=LIMIT))) == once


@given(st.lists(st.text(max_size=10) | st.integers(), max_size=10))
def test_the_limit_is_close_to_the_bytes_of_the_json(value: list[Any]) -> None:
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    assert plain(value, limit=2 * size + 40) == plain(value, limit=LIMIT)


def test_dates_and_spans_are_text() -> None:
    given_values = [date(2025, 1, 2), datetime(2025, 1, 2, tzinfo=UTC), timedelta(seconds=3)]

    assert plain(given_values, limit=LIMIT) == [
        "2025-01-02",
        "2025-01-02T00:00:00+00:00",
        "0:00:03",
    ]


def test_an_integer_of_many_digits_is_text() -> None:
    assert plain(10**5000, limit=LIMIT).startswith("0x")


def test_shared_values_are_counted_each_time() -> None:
    value: Any = ["text"]
    for _ in range(60):
        value = [value, value]

    with pytest.raises(TooLargeError):
        plain(value, limit=LIMIT)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(NotPlainError, match="deeper"):
        plain(value, limit=LIMIT)


@pytest.mark.parametrize("value", [b"x", object(), {(1,): 2}, [1j]])
def test_what_json_lacks_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(NotPlainError, match="of type"):
        plain(value, limit=LIMIT)


def test_lone_surrogates_which_the_sandbox_does_not_take_are_spelled_out() -> None:
    assert plain({"a\udcff": ["\ud800x", "é"]}, limit=100) == {"a\\udcff": ["\\ud800x", "é"]}
