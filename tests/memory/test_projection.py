"""The fold: what each key of a delta does, in which order, and what never grows."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remora.memory.canonical import canonical
from remora.memory.delta import PacketDelta
from remora.memory.events import Event, decode_event
from remora.memory.packet import (
    Action,
    Candidate,
    DecisionPacket,
    Excerpt,
    Fact,
    NewAction,
    packet_json,
)
from remora.memory.projection import apply, replay


def fold(*deltas: PacketDelta, start: DecisionPacket | None = None) -> DecisionPacket:
    packet = start or DecisionPacket()
    for delta in deltas:
        packet = apply(packet, delta)
    return packet


def learn(**facts: Any) -> PacketDelta:
    return PacketDelta(update_knowledge=facts)


def did(args: dict[str, Any], summary: str = "s", **changes: Any) -> PacketDelta:
    return PacketDelta(add_action=NewAction(tool="t", args=args, summary=summary, **changes))


FULL = DecisionPacket(
    agent_id="a",
    run_id="r",
    turn=3,
    goal="g",
    state_summary="before",
    excerpt=Excerpt(ref="r", path="p.py", lines=(1, 1), text="x"),
    diagnostics=("d",),
    candidate_actions=(Candidate(tool="t"),),
    recent_actions=(Action(turn=1, tool="t", args={}, summary="s", outcome="success"),),
    knowledge={"k": Fact(value=1, source_turn=1)},
    last_error="e",
    error_count=2,
    hub_context={"n": {"x": 1}},
    hub_freshness={"n": "2026"},
    extensions={"x": 1, "y": 2},
)


@pytest.mark.parametrize("delta", [None, PacketDelta()])
def test_nothing_said_changes_nothing(delta: PacketDelta | None) -> None:
    assert apply(FULL, delta) == FULL


@pytest.mark.parametrize(
    ("said", "field", "expected"),
    [
        ({"turn": 9}, "turn", 9),
        ({"state_summary": ""}, "state_summary", ""),
        ({"excerpt": None}, "excerpt", None),
        (
            {"excerpt": {"ref": "q", "path": "q.py", "lines": [2, 3], "text": "a\nb"}},
            "excerpt",
            {"ref": "q", "path": "q.py", "lines": [2, 3], "text": "a\nb"},
        ),
        ({"candidate_actions": []}, "candidate_actions", []),
        (
            {"candidate_actions": [{"tool": "u"}]},
            "candidate_actions",
            [{"tool": "u", "args": {}, "reason": ""}],
        ),
        ({"diagnostics": list(range(25))}, "diagnostics", list(range(20))),
        ({"set_error": "new"}, "last_error", "new"),
        ({"set_error": "new"}, "error_count", 3),
        ({"set_error": ""}, "error_count", 3),
        ({"set_error": None}, "last_error", None),
        ({"set_error": None}, "error_count", 2),
        ({"hub_context": {"n": {"y": 2}}}, "hub_context", {"n": {"y": 2}}),
        ({"hub_context": {"n": None}}, "hub_context", {}),
        ({"hub_context": {"n": None}}, "hub_freshness", {"n": "2026"}),
        ({"hub_context": {"other": None}}, "hub_context", {"n": {"x": 1}}),
        ({"hub_freshness": {"n": None}}, "hub_freshness", {}),
        ({"extensions": {"y": {"deep": None}}}, "extensions", {"x": 1, "y": {"deep": None}}),
        ({"extensions": {"x": None, "z": 0}}, "extensions", {"y": 2, "z": 0}),
        ({"update_knowledge": {"k": None}}, "knowledge", {"k": {"value": None, "source_turn": 3}}),
        ({"forget_knowledge": ["k", "unknown"]}, "knowledge", {}),
    ],
)
def test_each_key_of_a_delta_changes_its_own_field(
    said: dict[str, Any], field: str, expected: Any
) -> None:
    after = packet_json(apply(FULL, msgspec.convert(said, PacketDelta)))
    assert after[field] == expected
    touched = {field, "error_count", "last_error"} if "set_error" in said else {field, *said}
    untouched = set(after) - touched
    before = packet_json(FULL)
    assert {key: after[key] for key in untouched} == {key: before[key] for key in untouched}


def test_an_initial_null_extension_is_kept() -> None:
    start = DecisionPacket(extensions={"x": None})
    assert fold(PacketDelta(extensions={"y": 1}), start=start).extensions == {"x": None, "y": 1}


class TestActions:
    def test_the_same_action_again_counts_and_takes_the_newer_turn(self) -> None:
        packet = fold(did({"a": 1}), PacketDelta(turn=5), did({"a": 1}), did({"a": 1}))
        assert [(a.turn, a.count) for a in packet.recent_actions] == [(5, 3)]

    def test_the_newest_ten_are_kept(self) -> None:
        packet = fold(*(did({"n": n}) for n in range(12)))
        assert [a.args["n"] for a in packet.recent_actions] == list(range(2, 12))

    def test_a_full_list_still_counts(self) -> None:
        packet = fold(*(did({"n": n}) for n in range(10)), did({"n": 9}))
        assert [a.count for a in packet.recent_actions] == [1] * 9 + [2]


def test_eviction_comes_after_forgetting_and_learning() -> None:
    full = fold(learn(**{f"k{n}": n for n in range(64)}))
    packet = fold(PacketDelta(forget_knowledge=("k9",), update_knowledge={"x": 1}), start=full)
    assert len(packet.knowledge) == 64
    assert "k0" in packet.knowledge


class TestKnowledge:
    def test_the_65th_key_drops_the_front(self) -> None:
        packet = fold(learn(**{f"k{n}": n for n in range(65)}))
        assert list(packet.knowledge) == [f"k{n}" for n in range(1, 65)]

    def test_feedback_is_never_dropped(self) -> None:
        packet = fold(learn(feedback="do less"), learn(**{f"k{n}": n for n in range(64)}))
        assert list(packet.knowledge) == ["feedback", *(f"k{n}" for n in range(1, 64))]

    def test_feedback_can_be_forgotten(self) -> None:
        packet = fold(learn(feedback="f"), PacketDelta(forget_knowledge=("feedback",)))
        assert packet.knowledge == {}

    def test_where_only_pinned_facts_are_left_they_stay_whatever_their_size(self) -> None:
        packet = fold(learn(a=1), learn(feedback="x" * 20_000))
        assert list(packet.knowledge) == ["feedback"]

    def test_16_kib_are_the_canonical_utf8_of_the_whole_object(self) -> None:
        def of_size(size: int) -> str:
            bare = len(canonical({"k": Fact(value="", source_turn=0)}))
            return "é" * ((size - bare) // 2) + "x" * ((size - bare) % 2)

        exact = fold(learn(k=of_size(16 * 1024)))
        assert len(canonical(exact.knowledge)) == 16 * 1024
        assert fold(learn(k=of_size(16 * 1024 + 1))).knowledge == {}

    @pytest.mark.parametrize(("size", "kept"), [(16 * 1024, ["b", "k"]), (16 * 1024 + 1, ["k"])])
    def test_what_is_left_is_measured_again_after_each_that_goes(
        self, size: int, kept: list[str]
    ) -> None:
        both = {"b": Fact(value=1, source_turn=0), "k": Fact(value="", source_turn=0)}
        filled = "x" * (size - len(canonical(both)))
        assert list(fold(learn(a=1, b=1), learn(k=filled)).knowledge) == kept


def test_removals_make_room_before_any_node_of_the_hub_overflows() -> None:
    seen = PacketDelta(
        hub_context={node: {"n": node} for node in "abcde"},
        hub_freshness=dict.fromkeys("abcde", "t"),
    )
    gone = PacketDelta(hub_context={"f": {}, "c": None}, hub_freshness={"f": "t", "c": None})
    packet = fold(seen, gone)
    assert list(packet.hub_context) == [*"abdef"]


# The fold once more, written from the contract alone, over plain JSON values.


def reference(packet: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("turn", "state_summary", "excerpt", "candidate_actions"):
        if key in delta:
            packet[key] = delta[key]
    if "diagnostics" in delta:
        packet["diagnostics"] = delta["diagnostics"][:20]
    if "add_action" in delta:
        reference_action(packet, delta["add_action"])
    reference_knowledge(packet, delta)
    if "set_error" in delta:
        packet["last_error"] = delta["set_error"]
        packet["error_count"] += 0 if delta["set_error"] is None else 1
    reference_hub(packet, delta)
    for key, value in delta.get("extensions", {}).items():
        packet["extensions"][key] = value
        if value is None:
            del packet["extensions"][key]


def dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def reference_action(packet: dict[str, Any], new: dict[str, Any]) -> None:
    actions = packet["recent_actions"]
    bare = {key: new[key] for key in ("tool", "args", "summary", "outcome")}
    if actions and dumped({key: actions[-1][key] for key in bare}) == dumped(bare):
        actions[-1] |= {"turn": packet["turn"], "count": actions[-1]["count"] + 1}
    else:
        actions.append({"turn": packet["turn"], **bare, "count": 1})
    del actions[:-10]


def reference_hub(packet: dict[str, Any], delta: dict[str, Any]) -> None:
    for field in ("hub_context", "hub_freshness"):
        for node, value in delta.get(field, {}).items():
            packet[field].pop(node, None)
            if value is not None:
                packet[field][node] = value
    for field, other in (("hub_context", "hub_freshness"), ("hub_freshness", "hub_context")):
        while len(packet[field]) > 5:
            node = next(iter(packet[field]))
            del packet[field][node]
            packet[other].pop(node, None)


def reference_knowledge(packet: dict[str, Any], delta: dict[str, Any]) -> None:
    facts = packet["knowledge"]
    for key in delta.get("forget_knowledge", []):
        facts.pop(key, None)
    for key, value in delta.get("update_knowledge", {}).items():
        facts.pop(key, None)
        facts[key] = {"value": value, "source_turn": packet["turn"]}
    while len(facts) > 64 or len(dumped(facts).encode()) > 16 * 1024:
        unpinned = [key for key in facts if key != "feedback"]
        if not unpinned:
            break
        del facts[unpinned[0]]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts)
values = st.recursive(
    leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=5
)
long_texts = st.integers(300, 500).map(lambda n: "aé"[n % 2] * n)
keys = st.sampled_from(["feedback", *(f"k{n}" for n in range(80))])
nodes = st.sampled_from([*"abcdefgh"])
near_equal = st.fixed_dictionaries({"a": st.sampled_from([1, True, "1", 0, False, None])})
calls = {
    "tool": st.sampled_from(["t", "u"]),
    "args": near_equal,
    "summary": st.sampled_from(["s", ""]),
    "outcome": st.sampled_from(["success", "error", "partial"]),
}
excerpts = st.fixed_dictionaries(
    {"ref": texts, "path": texts, "lines": st.just([1, 1]), "text": texts}
)
deltas = st.fixed_dictionaries(
    {},
    optional={
        "turn": st.integers(0, 99),
        "state_summary": texts,
        "excerpt": st.none() | excerpts,
        "candidate_actions": st.lists(
            st.fixed_dictionaries({"tool": texts, "args": near_equal, "reason": texts}), max_size=3
        ),
        "diagnostics": st.lists(values, max_size=25),
        "add_action": st.fixed_dictionaries(calls),
        "update_knowledge": st.dictionaries(keys, values | long_texts, max_size=30),
        "forget_knowledge": st.lists(keys, max_size=3),
        "set_error": st.none() | texts,
        "hub_context": st.dictionaries(nodes, values, max_size=7),
        "hub_freshness": st.dictionaries(nodes, st.none() | texts, max_size=7),
        "extensions": st.dictionaries(st.sampled_from([*"xyz"]), values, max_size=3),
    },
)
streams = st.lists(deltas, max_size=12)


@pytest.mark.slow
@given(streams)
def test_the_fold_equals_its_reference_after_every_delta(stream: list[dict[str, Any]]) -> None:
    packet = replace(FULL, knowledge={}, recent_actions=())
    expected = packet_json(packet)
    for said in stream:
        packet = apply(packet, msgspec.json.decode(json.dumps(said), type=PacketDelta))
        reference(expected, said)
        built = packet_json(packet)
        assert dumped(built) == dumped(expected)  # as text: 1 is not true
        for field in ("knowledge", "hub_context", "hub_freshness"):
            assert list(built[field]) == list(expected[field])  # their order is state
        holds_its_bounds(packet)


def holds_its_bounds(packet: DecisionPacket) -> None:
    assert len(packet.recent_actions) <= 10
    assert len(packet.diagnostics) <= 20
    unpinned = packet.knowledge.keys() - {"feedback"}
    assert len(packet.knowledge) <= 64
    assert len(canonical(packet.knowledge)) <= 16 * 1024 or not unpinned
    assert len(packet.hub_context) <= 5
    assert len(packet.hub_freshness) <= 5


def event(seq: int, kind: str, data: Any, delta: Any) -> Event:
    line = {"v": 1, "seq": seq, "timestamp": "", "run_id": "r", "agent_id": "a"}
    line |= {"operation": "lint", "node_id": "n", "turn": 0, "type": kind, "data": data}
    return decode_event(json.dumps(line | {"packet_delta": delta, "hash": ""}).encode())


@pytest.mark.slow
@given(streams)
def test_replay_of_a_stream_is_the_fold_of_its_deltas(stream: list[dict[str, Any]]) -> None:
    start = {"packet": packet_json(FULL)}
    events = [event(0, "agent_start", start, {"turn": 0})]
    events += [event(n, "of_a_newer_version", {}, said) for n, said in enumerate(stream, 1)]
    converted = (msgspec.convert(said, PacketDelta) for said in stream)
    assert replay(events, strict=False) == fold(PacketDelta(turn=0), *converted, start=FULL)


def test_a_first_line_that_was_torn_and_set_aside_is_nothing_to_replay() -> None:
    """Its writer was killed within `agent_start`; who came after it said so, and began again."""
    torn = event(0, "recovered", {"quarantine": "a.quarantine-1", "bytes": 12}, None)
    told = [
        event(1, "agent_start", {"packet": packet_json(FULL)}, None),
        event(2, "turn_start", {}, {"turn": 4}),
    ]
    assert replay([torn, *told]) == replay(told) == fold(PacketDelta(turn=4), start=FULL)


TURN, TORN = event(0, "turn_start", {}, None), event(0, "recovered", {}, None)


@pytest.mark.parametrize("events", [[], [TURN], [TORN], [TORN, TURN]])
def test_a_stream_without_agent_start_cannot_be_replayed(events: list[Event]) -> None:
    with pytest.raises(ValueError, match="agent_start"):
        replay(events)
