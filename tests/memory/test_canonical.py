"""One JSON spelling, and the forms in which odd values are stored and had back."""

import base64
import dataclasses
import datetime
import enum
import json
import math
from collections import OrderedDict, deque, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from enum import IntEnum, StrEnum
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import attrs
import msgspec
import pydantic
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
from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value, is_stored_unchanged
from remora.memory.events import (
    AgentError,
    Change,
    ContextUpdate,
    Payload,
    SubmitResult,
    ToolResulted,
    payload,
)
from remora.memory.packet import DecisionPacket, Fact, packet_json
from remora.memory.summarizers import DefaultSummarizer
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity
from tests.clock import ticking
from tests.trace.conftest import agent_identity


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
        (b"x\xff\x1b[1m", "x\ufffd"),
        ({(1, frozenset("ba")): 2}, {'[1,["a","b"]]': 2}),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (datetime.timedelta(days=1), "1 day, 0:00:00"),
        (ValueError("no", 1), "ValueError: ('no', 1)"),
        (ValueError(), "ValueError"),
        (range(3), "range(0, 3)"),
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
        ({"$$int": [b""]}, {"$$$int": [{"$bytes": ""}]}),
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


@dataclasses.dataclass
class Order:
    at: datetime.date
    tags: set[str]
    key: str = dataclasses.field(default="hidden", repr=False)


@attrs.define
class Parcel:
    tags: frozenset[str]
    key: str = attrs.field(default="hidden", repr=False)
    code: str = attrs.field(default="hidden", repr=lambda _: "***")


class Customer(pydantic.BaseModel):
    tags: set[str]
    password: pydantic.SecretStr = pydantic.SecretStr("hidden")
    key: str = pydantic.Field(default="hidden", repr=False)


class Numbers:
    """As an array or a scalar of NumPy."""

    size = 2

    def tolist(self) -> list[float]:
        return [1.5, 2]


class Plain(enum.Enum):
    ONE, TWO = 1, "two"


RECORDS = [
    (Order(datetime.date(2026, 1, 2), {"b", "a"}), {"at": "2026-01-02", "tags": ["a", "b"]}),
    (Parcel(frozenset("ba")), {"tags": ["a", "b"]}),
    (Customer(tags={"b", "a"}), {"tags": ["a", "b"], "password": "SecretStr('**********')"}),
    (Fact(value={2, 1}, source_turn=3), {"value": [1, 2], "source_turn": 3}),
    ({(1, "x"), "y", None}, ["y", [1, "x"], None]),
    ({"b": 1, "a": 2}.keys(), ["a", "b"]),
    (deque([{1}]), [[1]]),
    (Numbers(), ["1.5", 2]),
    (Path("a/b.py"), "a/b.py"),
    (Decimal("1.50"), "1.50"),
    (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), "2026-01-02T03:00:00+00:00"),
    ([Plain.ONE, Plain.TWO], ["ONE", "two"]),
    ({frozenset("ba"): 1, Plain.ONE: 2}, {'["a","b"]': 1, "ONE": 2}),
    ([object(), Numbers.tolist], ["<object object>", "<function Numbers.tolist>"]),
]


@pytest.mark.parametrize(("value", "expected"), RECORDS)
def test_records_and_sets_are_readable_and_the_same_in_each_process(
    value: Any, expected: Any
) -> None:
    assert to_packet_value(value) == expected
    facts = DefaultSummarizer("look").extract_knowledge(value)
    assert facts
    assert "hidden" not in str(facts)


def own(decorate: Any, *bases: type) -> Any:
    parts = {"key": "hidden", "__annotations__": {"key": str}, "__repr__": lambda _: "shown"}
    return decorate(type("Own", bases, {**parts, "__module__": __name__}))()


NOTE = dataclasses.make_dataclass("Note", [("x", str, "hidden")], bases=(Order,), repr=False)
PACKAGE = attrs.make_class("P", {"x": attrs.field(default="hidden")}, bases=(Parcel,), repr=False)
CLOSED = [own(dataclasses.dataclass), own(attrs.define), NOTE(1, {2}), PACKAGE({1})]
CLOSED += [own(lambda kind: kind, base) for base in (pydantic.BaseModel, msgspec.Struct)]


@pytest.mark.parametrize("record", CLOSED)
def test_a_record_whose_repr_does_not_show_its_fields_is_not_opened(record: Any) -> None:
    shown = to_packet_value({"x_1": record})
    assert shown == {"x_1": repr(record)}
    facts = [DefaultSummarizer("look").extract_knowledge(v) for v in (record, {"x_1": record})]
    assert "hidden" not in f"{facts}{shown}"


def test_a_record_that_contains_itself_or_cannot_be_read_is_shown() -> None:
    order: Any = Order(datetime.date(2026, 1, 2), {"a"})
    order.at = order
    assert to_packet_value(order) == {"at": CYCLE, "tags": ["a"]}
    del order.at
    assert to_packet_value(order) == "<Order>"


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
def test_what_is_deeper_is_dropped_and_said(deepest: Any) -> None:
    assert to_packet_value(nested([deepest], MAX_DEPTH)) == nested(TOO_DEEP, MAX_DEPTH)
    assert encode_value(nested([deepest], MAX_DEPTH)) == nested({"$repr": TOO_DEEP}, MAX_DEPTH)


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


MARKS = ["float", "int", "bytes", "text", "repr", "dict", "blob"]
short_texts = st.text(st.characters(exclude_categories=[]), max_size=6)
marked = st.builds("{}{}".format, st.sampled_from(["$", "$$", "$$$"]), st.sampled_from(MARKS))
marked_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.none().map(lambda _: -(1 << 20_000)),  # longer than Python writes in digits
    st.floats(),
    short_texts,
    st.sampled_from(["\ud800", "\x00", "\u2028", "nan", "<nested beyond 64 levels>", "0x1f"]),
    st.binary(max_size=9),
)
keys = st.one_of(
    short_texts, marked, st.integers(), st.none(), st.tuples(st.integers(), short_texts)
)
values = st.recursive(
    marked_leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(lambda key, value: {key: value}, marked, inner),
    ),
    max_leaves=12,
)
"""Whatever JSON has, bytes, all numbers, all text, and any keys."""


def marked_nested(value: Any, levels: int) -> Any:
    for level in reversed(range(levels)):
        value = [value, level] if level % 3 else {"$dict": value}
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


@given(values)
def test_stored_values_have_bounded_nesting(value: Any) -> None:
    stored = encode_value(marked_nested(value, 500))
    assert max(depth for depth, _ in leaves_of(stored)) < MAX_DEPTH + 8


@given(values)
def test_it_is_a_copy(value: Any) -> None:
    stored = encode_value(marked_nested([value], 80))
    before = canonical(stored)
    decode_value(stored)
    assert canonical(stored) == before


@pytest.mark.parametrize(
    "foreign",
    [
        {"$float": "1.5"}, {"$float": []}, {"$int": "twelve"}, {"$int": 12}, {"$int": "1_0"},
        {"$bytes": "?"}, {"$text": "/w=="}, {"$repr": "<object>"}, {"$dict": {"ab": 1}},
        {"$dict": ["ab"]}, {"$dict": [[{}, 1]]}, {"$blob": {"sha256": "0"}}, {"$$blob": 1}, {"$": 1}, {"$other": 1},
    ],
)  # fmt: skip
def test_what_is_not_a_form_of_ours_stays_as_it_is(foreign: Any) -> None:
    assert decode_value({"x": [foreign]}) == {"x": [foreign]}


json_values = st.recursive(
    st.none() | st.integers() | short_texts | st.sampled_from(["1", "nan", "eA=="]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.builds(lambda key, value: {key: value}, marked, inner),
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


LEAVES = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.integers(2**63 - 2, 2**64 + 2)
    | st.binary(max_size=9)
    | st.text(st.characters(), max_size=9)
    | st.sampled_from(["$float", "$text", "$blob", "\ud800"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$int", "$$at"]), inner)
        | st.dictionaries(LEAVES, inner, max_size=2)
    ),
)


@given(value=VALUES)
def test_the_line_is_the_same_either_way(value: Any) -> None:
    payload = ContextUpdate(source="hub", value=value, host_calls=[value])
    with pytest.MonkeyPatch.context() as patch:
        fast = NullEventEmitter(agent_identity(), ticking()).emit(payload, turn=1)
        patch.setattr("remora.trace.stream.line_builder.is_stored_unchanged", lambda _: False)
        slow = NullEventEmitter(agent_identity(), ticking()).emit(payload, turn=1)
    assert fast == slow


def test_ordinary_values_are_stored_unchanged() -> None:
    """Else nothing would be gained."""
    change = Change(path="a.py", before=None, after="0" * 64, mode=0o644)
    result = ToolResulted(
        tool="apply_fix",
        args={"line": 1, "codes": ["F401"]},
        raw_output={"é": [1, 2.5, None, True, {}], "deep": [[[[{"a": [1]}]]]]},
        changes=(change,),
    )
    assert is_stored_unchanged(result)


def test_cyclic_values_are_not_inspected() -> None:
    around: list[Any] = []
    around.append(around)
    assert not is_stored_unchanged(around)
