"""What changed between two packets: told exactly, and as people would say it."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.packet import Action, Candidate, DecisionPacket, Excerpt, Fact, packet_json
from remora.runs.records.packet_diff import PacketChange, packet_changes

KEYS = st.sampled_from(["F401", "a/b", "~", "path", "left"])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text(max_size=3))
ACTIONS = st.builds(
    Action,
    turn=st.integers(0, 4),
    tool=st.sampled_from(["look", "fix"]),
    args=st.dictionaries(KEYS, VALUES, max_size=1),
    summary=st.sampled_from(["", "done"]),
    outcome=st.sampled_from(["success", "error"]),
    count=st.integers(1, 2),
)
PACKETS = st.builds(
    DecisionPacket,
    turn=st.integers(0, 4),
    state_summary=st.sampled_from(["", "one left"]),
    excerpt=st.one_of(
        st.none(), st.builds(Excerpt, ref=st.just("r"), path=KEYS, lines=st.just((1, 2)), text=KEYS)
    ),
    diagnostics=st.lists(VALUES, max_size=4).map(tuple),
    candidate_actions=st.lists(st.builds(Candidate, tool=KEYS), max_size=4).map(tuple),
    recent_actions=st.lists(ACTIONS, max_size=4).map(tuple),
    knowledge=st.dictionaries(
        KEYS, st.builds(Fact, value=VALUES, source_turn=st.integers(0, 2)), max_size=4
    ),
    last_error=st.sampled_from([None, "no"]),
    hub_context=st.dictionaries(KEYS, VALUES, max_size=3),
)


def place(packet: dict[str, Any], change: PacketChange) -> tuple[Any, str]:
    *above, key = (part.replace("~1", "/").replace("~0", "~") for part in words(change))
    parent: Any = packet
    for word in above:
        parent = parent[word]
    return parent, key


def words(change: PacketChange) -> list[str]:
    return change.path.split("/")[1:]


@given(PACKETS)
def test_nothing_changed_if_and_only_if_they_are_equal(packet: DecisionPacket) -> None:
    assert packet_changes(packet, packet) == []


@given(PACKETS, PACKETS)
def test_nothing_that_changed_goes_untold(before: DecisionPacket, after: DecisionPacket) -> None:
    changes = packet_changes(before, after)
    told = {words(change)[0] for change in changes}
    old, new = packet_json(before), packet_json(after)
    spelled = {key: msgspec.json.encode(value, order="sorted") for key, value in old.items()}
    assert told == {
        key for key in new if msgspec.json.encode(new[key], order="sorted") != spelled[key]
    }


@given(PACKETS, PACKETS)
def test_every_value_is_where_the_path_says(before: DecisionPacket, after: DecisionPacket) -> None:
    old, new = packet_json(before), packet_json(after)
    for change in packet_changes(before, after):
        if change.op != "add" and not isinstance(place(old, change)[0], list):
            parent, key = place(old, change)
            assert parent[key] == change.before
        if change.op != "remove":
            parent, key = place(new, change)
            assert parent[int(key) if isinstance(parent, list) else key] == change.after


class TestAsPeopleSayIt:
    def test_a_fact_is_reported_by_its_key_and_the_same_call_once_more_as_a_change(self) -> None:
        before = DecisionPacket(knowledge={"a/b": Fact(value=1, source_turn=1)})
        after = DecisionPacket(knowledge={"c": Fact(value=2, source_turn=2)})
        assert [(c.op, c.path, c.before, c.after) for c in packet_changes(before, after)] == [
            ("remove", "/knowledge/a~1b", {"value": 1, "source_turn": 1}, None),
            ("add", "/knowledge/c", None, {"value": 2, "source_turn": 2}),
        ]
        once = Action(turn=1, tool="look", args={}, summary="", outcome="error")
        twice = msgspec.structs.replace(once, turn=2, count=2)
        (change,) = packet_changes(
            DecisionPacket(recent_actions=(once,)), DecisionPacket(recent_actions=(twice,))
        )
        assert (change.op, change.path) == ("change", "/recent_actions/0")

    def test_actions_that_were_pushed_out_are_removed_and_no_other_is_touched(self) -> None:
        actions = tuple(
            Action(turn=n, tool="look", args={"n": n}, summary="", outcome="success")
            for n in range(12)
        )
        before = DecisionPacket(recent_actions=actions[:10])
        after = DecisionPacket(recent_actions=actions[2:])
        assert [(c.op, c.path) for c in packet_changes(before, after)] == [
            ("remove", "/recent_actions/0"),
            ("remove", "/recent_actions/1"),
            ("add", "/recent_actions/8"),
            ("add", "/recent_actions/9"),
        ]
