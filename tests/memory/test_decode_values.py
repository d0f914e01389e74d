"""What a stream holds in marked forms is had back as it was."""

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.canonical import MAX_DEPTH, canonical
from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value
from remora.memory.events import (
    AgentError,
    Payload,
    SubmitResult,
    ToolResulted,
    payload,
)
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

MARKS = ["float", "int", "bytes", "text", "repr", "dict", "deep", "at", "blob"]
texts = st.text(st.characters(exclude_categories=[]), max_size=6)
marked = st.builds("{}{}".format, st.sampled_from(["$", "$$", "$$$"]), st.sampled_from(MARKS))
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.none().map(lambda _: -(1 << 20_000)),  # longer than Python writes in digits
    st.floats(),
    texts,
    st.sampled_from(["\ud800", "\x00", "\u2028", "nan", "<nested beyond 64 levels>", "0x1f"]),
    st.binary(max_size=9),
)
keys = st.one_of(texts, marked, st.integers(), st.none(), st.tuples(st.integers(), texts))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(lambda key, value: {key: value}, marked, inner),
    ),
    max_leaves=12,
)
"""Whatever JSON has, bytes, all numbers, all text, and any keys."""


def nested(value: Any, levels: int) -> Any:
    for level in reversed(range(levels)):
        value = [value, level] if level % 3 else {"$deep": value}
    return value


def leaves_of(value: Any) -> Iterator[tuple[int, Any]]:
    """Depth and spelling of whatever a value holds, in order; without recursion."""
    found = [(0, value)]
    while found:
        depth, item = found.pop()
        if isinstance(item, dict):
            yield depth, [repr(key) for key in item]
            found += [(depth + 1, inner) for inner in item.values()]
        elif isinstance(item, list):
            yield depth, len(item)
            found += [(depth + 1, inner) for inner in item]
        else:
            yield depth, hex(item) if type(item) is int else repr(item)


def same(one: Any, other: Any) -> bool:
    return list(leaves_of(one)) == list(leaves_of(other))


def as_read(value: Any) -> Any:
    """Through the bytes of a line, as any JSON reader has them."""
    return json.loads(msgspec.json.encode(value))


@given(values)
def test_nothing_of_text_bytes_numbers_and_structure_is_lost(value: Any) -> None:
    assert same(decode_value(as_read(encode_value(value))), value)


@given(values, st.integers(MAX_DEPTH - 4, MAX_DEPTH + 40))
def test_nor_where_it_is_nested_deeply(value: Any, levels: int) -> None:
    assert same(decode_value(as_read(encode_value(nested(value, levels)))), nested(value, levels))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1_000, 100_000])
def test_nor_below_as_many_levels_as_you_like(levels: int) -> None:
    value = nested([math.nan, b"x", {"$at": 1}], levels)
    assert same(decode_value(as_read(encode_value(value))), value)


@given(values)
def test_stored_values_have_bounded_nesting(value: Any) -> None:
    stored = encode_value(nested(value, 500))
    assert max(depth for depth, _ in leaves_of(stored)) < MAX_DEPTH + 8


@given(values)
def test_it_is_a_copy(value: Any) -> None:
    stored = encode_value(nested([value], 80))
    before = canonical(stored)
    decode_value(stored)
    assert canonical(stored) == before


@pytest.mark.parametrize(
    "foreign",
    [
        {"$float": "1.5"},
        {"$float": []},
        {"$int": "twelve"},
        {"$int": 12},
        {"$int": "1_0"},
        {"$bytes": "?"},
        {"$text": "/w=="},
        {"$repr": "<object>"},
        {"$dict": {"ab": 1}},
        {"$dict": ["ab"]},
        {"$dict": [[{}, 1]]},
        {"$deep": []},
        {"$deep": [1]},
        {"$deep": [[{"$at": 0}]]},
        {"$deep": [[{"$at": 2}]]},
        {"$deep": [[{"$at": "1"}], []]},
        {"$deep": [[{"$at": True}], []]},
        {"$deep": [[], []]},
        {"$deep": [[{"$at": 1}], [{"$at": 1}]]},
        {"$deep": [[{"$at": 1}, {"$at": 1}], []]},
        {"$deep": [[{"$at": 2}], [{"$at": 0}], [{"$at": 1}]]},
        {"$at": 1},
        {"$blob": {"sha256": "0"}},
        {"$$blob": 1},
        {"$": 1},
        {"$other": 1},
    ],
)
def test_what_is_not_a_form_of_ours_stays_as_it_is(foreign: Any) -> None:
    assert decode_value({"x": [foreign]}) == {"x": [foreign]}


json_values = st.recursive(
    st.none() | st.integers() | texts | st.sampled_from(["1", "nan", "eA=="]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.builds(lambda key, value: {key: value}, marked, inner),
        st.builds(lambda number: {"$at": number}, st.integers(0, 3)),
        st.builds(lambda nodes: {"$deep": nodes}, st.lists(inner, max_size=3)),
    ),
    max_leaves=10,
)


@given(json_values)
def test_whatever_a_foreign_stream_holds_is_taken(value: Any) -> None:
    list(leaves_of(decode_value(value)))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (AgentError(kind="k", message="a\ud800b"), AgentError(kind="k", message="a\\ud800b")),
        (SubmitResult(summary="\udfff"), SubmitResult(summary="\\udfff")),
        (ToolResulted(tool="t", error="\ud800", raw_output="\ud800"),
         ToolResulted(tool="t", error="\\ud800", raw_output={"$text": "7aCA"})),
    ],
)  # fmt: skip
def test_a_typed_field_is_read_though_its_text_had_to_be_marked(
    said: Payload, expected: Payload
) -> None:
    event = NullEventEmitter(Identity("run-1")).emit(said, turn=0)
    assert payload(event) == expected
    recorded = decode_value(msgspec.json.decode(event.data))
    name = {"agent_error": "message", "submit_result": "summary", "tool_result": "error"}
    field = name[said.type]
    assert recorded[field] == getattr(said, field)  # nothing of it is lost


def test_what_is_not_such_a_form_still_does_not_fit() -> None:
    event = NullEventEmitter(Identity("run-1")).emit(AgentError(kind="k"), turn=0)
    for wrong in (b'{"kind":{"$bytes":"AA=="}}', b'{"kind":{"$text":"?"}}', b'{"kind":{"x":1}}'):
        with pytest.raises(msgspec.ValidationError, match=r"`str`.*\$\.kind"):
            payload(msgspec.structs.replace(event, data=msgspec.Raw(wrong)))
