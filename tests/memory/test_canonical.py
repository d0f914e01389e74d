"""One JSON spelling, and the forms in which odd values can be hashed and stored."""

import base64
import json
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import IntEnum, StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.canonical import (
    CYCLE,
    MAX_DEPTH,
    TOO_DEEP,
    canonical,
    canonical_sha256,
    canonical_size,
    to_packet_value,
)
from remora.memory.encode_values import encode_value
from remora.memory.packet import DecisionPacket, Fact, packet_json


def dumps(value: Any) -> bytes:
    """The contract's own words for canonical JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Word(str):
    pass


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


Point = namedtuple("Point", "x y")

texts = st.text(st.characters(exclude_categories=[])) | st.text(
    "\ud800\udfffa\x00\x1f\x7f\u2028é😀"
)
odd_numbers = st.sampled_from(
    [1e16, 1e22, 1e-7, 5e-324, -0.0, 1e-5, 0.1, 2**53, 2**63, 2**64, -(2**64)]
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**4400, 10**4401),
    st.floats(),
    odd_numbers,
    texts,
    texts.map(Word),
    st.binary(max_size=9),
    st.sampled_from([Colour.RED, Level.LOW, Decimal("1.50"), Point(1, 2.5), {1, 2}]),
)
odd_keys = st.one_of(texts, texts.map(Word), st.integers(), st.booleans(), st.none(), st.floats())


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    mappings = st.dictionaries(odd_keys, inner, max_size=4)
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        mappings,
        mappings.map(OrderedDict),
        mappings.map(MappingProxyType),
    )


def nested(value: Any, levels: int) -> Any:
    for level in reversed(range(levels)):
        value = [value] if level % 2 else {"k": value}
    return value


anything = st.recursive(leaves, containers, max_leaves=8) | st.builds(
    nested, leaves, st.integers(55, 75)
)


@given(anything)
def test_what_plain_and_storable_give_has_the_standard_librarys_spelling(value: Any) -> None:
    for made in (to_packet_value(value), encode_value(value)):
        assert canonical(made) == dumps(made)
        assert json.loads(canonical(made)) == made
        assert canonical_sha256(made) == sha256(dumps(made)).hexdigest()


@given(anything)
def test_plain_gives_what_a_packet_may_hold(value: Any) -> None:
    made = to_packet_value(value)
    assert only_plain(made, 0)
    assert to_packet_value(made) == made
    assert canonical_size(made) == len(dumps(made))


def only_plain(value: Any, depth: int) -> bool:
    if type(value) is dict:
        keys_hold = all(type(key) is str for key in value)
        return depth < 64 and keys_hold and all(only_plain(v, depth + 1) for v in value.values())
    if type(value) is list:
        return depth < 64 and all(only_plain(v, depth + 1) for v in value)
    if type(value) is int:
        return -(2**53) <= value <= 2**53
    return value is None or type(value) in (bool, str)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53, 2**53),
        (-(2**53), -(2**53)),
        (2**53 + 1, "9007199254740993"),
        (True, True),
        (1.0, "1.0"),
        (1e16, "1e+16"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        ("\ud800x\udfff", r"\ud800x\udfff"),
        ({"\udc80": 1, 2: None, None: 3}, {r"\udc80": 1, "2": None, "None": 3}),
        ((1, [2]), [1, [2]]),
        (b"x", "b'x'"),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Point(1, 2.5), [1, "2.5"]),
        (Hostile(), "<Hostile>"),
    ],
)
def test_plain_forms(value: Any, expected: Any) -> None:
    made = to_packet_value(value)
    assert (made, type(made)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, 1.5),
        (math.nan, {"$float": "nan"}),
        (math.inf, {"$float": "inf"}),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
        (2**64, {"$int": "18446744073709551616"}),
        (b"\x00", {"$bytes": "AA=="}),
        (Level.LOW, 1),
        ({1}, {"$repr": "{1}"}),
        (Hostile(), {"$repr": "<Hostile>"}),
        ({"$int": "1"}, {"$$int": "1"}),
        ({"$$at": [b""]}, {"$$$at": [{"$bytes": ""}]}),
        ({"$int": "1", "x": 1}, {"$int": "1", "x": 1}),
        ({"$blob": "is of another module"}, {"$blob": "is of another module"}),
        ({2: "a", "2": "b"}, {"$dict": [[2, "a"], ["2", "b"]]}),
        ({"\udc80": 1}, {"$dict": [[{"$text": "7bKA"}, 1]]}),
        ({Word("w"): 1, "é": 2}, {"w": 1, "é": 2}),
    ],
)
def test_storable_forms(value: Any, expected: Any) -> None:
    made = encode_value(value)
    assert (made, type(made)) == (expected, type(expected))


def test_a_text_with_lone_surrogates_is_stored_whole() -> None:
    made = encode_value("a\ud800b")
    assert base64.b64decode(made["$text"]).decode("utf-8", "surrogatepass") == "a\ud800b"


def test_a_number_too_long_for_python_to_write_is_spelled_in_hexadecimal() -> None:
    assert to_packet_value(1 << 20_000) == hex(1 << 20_000)
    assert encode_value(1 << 20_000) == {"$int": hex(1 << 20_000)}


@pytest.mark.parametrize("convert", [to_packet_value, encode_value])
def test_64_levels_stay(convert: Any) -> None:
    assert convert(nested("x", MAX_DEPTH)) == nested("x", MAX_DEPTH)


@pytest.mark.parametrize("deepest", ["x", {}, nested([1], 100)])
def test_a_packet_drops_what_is_deeper_and_says_so(deepest: Any) -> None:
    assert to_packet_value(nested([deepest], MAX_DEPTH)) == nested(TOO_DEEP, MAX_DEPTH)


def test_a_stream_holds_what_is_deeper_as_a_list_of_its_containers() -> None:
    deep = [{"a": [1, {}], "b": 2**64}, 3]
    nodes = [[{"$at": 1}, 3], {"a": {"$at": 2}, "b": {"$int": str(2**64)}}, [1, {"$at": 3}], {}]
    assert encode_value(nested(deep, MAX_DEPTH)) == nested({"$deep": nodes}, MAX_DEPTH)


def family() -> dict[str, Any]:
    parent: dict[str, Any] = {"name": "p"}
    parent["children"] = [{"parent": parent}, {"parent": parent}]
    return parent


@pytest.mark.parametrize(
    ("convert", "mark"), [(to_packet_value, CYCLE), (encode_value, {"$repr": CYCLE})]
)
def test_a_container_inside_itself_is_marked(convert: Any, mark: Any) -> None:
    children = [{"parent": mark}, {"parent": mark}]
    assert convert(family()) == {"name": "p", "children": children}


def test_so_is_one_that_is_stored_as_a_list_of_containers() -> None:
    child = {"parent": {"$repr": CYCLE}}
    nodes = [{"name": "p", "children": {"$at": 1}}, [{"$at": 3}, {"$at": 2}], child, child]
    assert encode_value(nested(family(), MAX_DEPTH)) == nested({"$deep": nodes}, MAX_DEPTH)


@pytest.mark.parametrize("convert", [to_packet_value, encode_value])
def test_a_container_beside_itself_is_not_a_cycle(convert: Any) -> None:
    shared = ["x"]
    assert convert([shared, shared]) == [["x"], ["x"]]


def test_a_packets_hash_is_that_of_its_plain_json() -> None:
    packet = DecisionPacket(goal="é", knowledge={"z": Fact(value=[None, 1], source_turn=2)})
    assert canonical_sha256(packet) == sha256(dumps(packet_json(packet))).hexdigest()
    assert canonical(DecisionPacket()).decode() == (
        '{"agent_id":"","candidate_actions":[],"constraints":{"max_turns":12,"safety":[]},'
        '"diagnostics":[],"error_count":0,"excerpt":null,"extensions":{},"goal":"",'
        '"hub_context":{},"hub_freshness":{},"knowledge":{},"last_error":null,"node_id":"",'
        '"node_summary":"","node_type":"","omitted":{},"operation":"","packet_version":"1.0",'
        '"recent_actions":[],"run_id":"","state_summary":"","turn":0}'
    )
