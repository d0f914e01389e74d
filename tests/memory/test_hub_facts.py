"""Facts of the Hub in packets: which nodes are asked for, and what packets show of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.canonical import canonical
from remora.memory.delta import PacketDelta, new_action
from remora.memory.hub_facts import hub_delta, recorded_facts, wanted_nodes
from remora.memory.node_facts import facts_view
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply

TARGET = "node:mod.py:f"
LATER = "node:mod.py:h"
TIERS = ("exact", "inferred", "unique")


def edges(*keys: str, tier: str = "exact") -> list[dict[str, Any]]:
    return [{"key": key, "tier": tier, "lines": [1]} for key in keys]


def facts(key: str = TARGET, **more: Any) -> dict[str, Any]:
    """A node's facts as the Hub answers."""
    return {
        "key": key,
        "node_type": "function",
        "source_hash": "a" * 64,
        "signature": "def f(x: int) -> int",
        "docstring": None,
        "docstring_outdated": False,
        "callers": None,
        "callees": None,
        "related_tests": None,
        "complexity": None,
        "has_type_hints": True,
        "partial": False,
        "last_updated": "2026-01-01T00:00:00Z",
        "fresh": True,
        **more,
    }


class TestWanted:
    def test_the_target_comes_first_then_the_newest(self) -> None:
        packet = apply(
            DecisionPacket(node_id="node:a.py:f"),
            PacketDelta(
                turn=1,
                update_knowledge={"callers": "node:c.py:h node:d.py:i"},
                add_action=new_action("t", {"node": "node:b.py:g"}, "", "success"),
            ),
        )
        assert wanted_nodes(packet) == [
            "node:a.py:f", "node:b.py:g", "node:c.py:h", "node:d.py:i",
        ]  # fmt: skip

    def test_nodes_that_suggestions_are_about_take_the_place_of_the_target(self) -> None:
        packet = apply(DecisionPacket(node_id=TARGET), PacketDelta(update_knowledge={"k": LATER}))
        assert wanted_nodes(packet, ["node:mod.py:g", LATER]) == ["node:mod.py:g", LATER]

    def test_at_most_five_nodes_are_shown(self) -> None:
        many = {f"k{n}": f"node:m.py:f{n}" for n in range(9)}
        packet = apply(DecisionPacket(node_id="node:a.py:f"), PacketDelta(update_knowledge=many))
        assert wanted_nodes(packet) == [
            "node:a.py:f", *(f"node:m.py:f{n}" for n in (8, 7, 6, 5)),
        ]  # fmt: skip

    def test_keys_are_found_in_sentences(self) -> None:
        knowledge = {"k": "node:c.py:h#2\nnode:d.py:__module__: no docstring", "n": ["node:e.py:é"]}
        action = new_action("t", {}, "Read node:a b.py:f, (node:b.py:C.m).", "success")
        delta = PacketDelta(add_action=action, update_knowledge=knowledge)
        packet = apply(DecisionPacket(node_id=TARGET), delta)
        assert wanted_nodes(packet) == [
            TARGET, "node:b.py:C.m", "node:e.py:é", "node:c.py:h#2", "node:d.py:__module__",
        ]  # fmt: skip

    def test_a_packet_may_name_no_node(self) -> None:
        assert wanted_nodes(DecisionPacket()) == []

    def test_a_key_that_stands_alone_may_hold_spaces(self) -> None:
        action = new_action("t", {"node": "node:my code/b c.py:g"}, "", "success")
        packet = apply(DecisionPacket(node_id=TARGET), PacketDelta(add_action=action))
        assert wanted_nodes(packet) == [TARGET, "node:my code/b c.py:g"]


SIGNATURE = "def f(x: int) -> int"
LIKELY = [edges(f"node:a.py:{tier}", tier=tier)[0] for tier in TIERS]
MANY = edges(*(f"node:a.py:f{n}" for n in range(100)))


class TestShown:
    @pytest.mark.parametrize(
        ("more", "room", "known", "shown"),
        [
            (
                {"docstring": "Says.", "complexity": 3}, 400, "",
                {"signature": SIGNATURE, "docstring": "Says.", "complexity": 3},
            ),
            (
                {"docstring": "Says.", "complexity": 3}, 400, f"{SIGNATURE}: Says. (3 lines)",
                {"complexity": 3},
            ),
            (  # what was not computed is absent
                {"callers": [], "callees": None, "related_tests": []}, 400, SIGNATURE,
                {"callers": [], "tests": []},
            ),
            (
                {"docstring_outdated": True, "has_type_hints": False, "partial": True}, 400, SIGNATURE,
                {"flags": ["docstring outdated", "type hints missing", "file read in part"]},
            ),
            ({"has_type_hints": False, "node_type": "module", "signature": None}, 400, "", {}),
            (
                {"callers": LIKELY}, 400, SIGNATURE,
                {"callers": ["a.py:exact", "a.py:inferred?", "a.py:unique?"]},
            ),
            (
                {"callers": LIKELY[:1], "call": "a.py:3: f(2)"}, 400, SIGNATURE,
                {"call": "a.py:3: f(2)", "callers": ["a.py:exact"]},
            ),
            ({"callers": [], "call": "a.py:3: " + "f(2)" * 9}, 40, SIGNATURE, {"callers": []}),
            (  # links out of the project come last
                {"callees": edges("ext:os.getcwd", "node:a.py:g")}, 400, SIGNATURE,
                {"callees": ["a.py:g", "ext:os.getcwd"]},
            ),
            (
                {"callers": MANY}, 4000, SIGNATURE,
                {"callers": [f"a.py:f{n}" for n in range(8)], "fan_in": 100},
            ),
            (
                {"fresh": False, "changed_by_user": True}, 0, "",
                {"changed_by_user": True, "fresh": False},
            ),
            (
                {"callers": [], "own_facts": "workspace"}, 400, SIGNATURE,
                {"callers": [], "links": "as before your edits"},
            ),
            ({"own_facts": "workspace"}, 400, SIGNATURE, {}),
        ],
    )  # fmt: skip
    def test_what_a_packet_shows_of_a_node(
        self, more: dict[str, Any], room: int, known: str, shown: dict[str, Any]
    ) -> None:
        assert facts_view(facts(**more), room, known=known) == shown

    @pytest.mark.parametrize("made", [None, edges("node:a.py:g")])
    def test_a_class_has_the_callers_of_its_constructor_and_none_is_not_known(
        self, made: list[dict[str, Any]] | None
    ) -> None:
        constructor = made and facts(f"{TARGET}.__init__", callers=made)
        told = recorded_facts(facts(node_type="class", callers=[]), 1, constructor)
        assert told["callers"] == made
        assert recorded_facts(facts(callers=[]), 1)["callers"] == []

    def test_every_kind_of_link_is_represented(self) -> None:
        many = [f"node:a.py:f{n}" for n in range(9)]
        tests = [{"id": f"tests/test_a.py::test_{n}", "tier": "exact"} for n in range(9)]
        told = facts(callers=edges(*many), callees=edges(*many), related_tests=tests)
        view = facts_view(told, 210, known=told["signature"])
        assert {name: len(view[name]) for name in ("callers", "callees", "tests")} == {
            "callers": 3, "callees": 2, "tests": 3,
        }  # fmt: skip
        assert (view["fan_in"], view["fan_out"], view["test_count"]) == (9, 9, 9)

    def test_all_links_are_counted_even_if_not_shown(self) -> None:
        told = facts(callers=MANY) | {"counts": {"callers": 1234}}
        assert facts_view(told, 400, known="")["fan_in"] == 1234

    @given(
        room=st.integers(0, 500),
        callers=st.none() | st.lists(st.text(min_size=1, max_size=60), max_size=12),
    )
    def test_hub_facts_stay_within_their_room(self, room: int, callers: list[str] | None) -> None:
        told = facts(callers=None if callers is None else edges(*callers))
        view = facts_view(told, room, known="")
        assert view == {} or len(canonical(view).decode()) <= room


class TestDelta:
    def test_times_go_to_a_place_of_their_own(self) -> None:
        delta = hub_delta(DecisionPacket(node_id=TARGET), {TARGET: facts(complexity=2)}, 400)
        assert delta.hub_context == {TARGET: {"signature": "def f(x: int) -> int", "complexity": 2}}
        assert delta.hub_freshness == {TARGET: "2026-01-01T00:00:00Z"}

    @pytest.mark.parametrize("node_id", ["", "node:b.py:g"])
    def test_without_facts_of_the_target_other_nodes_use_the_whole_room(self, node_id: str) -> None:
        found = {TARGET: facts(docstring="d" * 60)}
        delta = hub_delta(DecisionPacket(node_id=node_id), found, 150)
        assert isinstance(delta.hub_context, dict)
        assert [*delta.hub_context[TARGET]] == ["signature", "docstring"]

    def test_the_same_facts_again_change_nothing(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        found = {TARGET: facts(), "node:b.py:g": facts("node:b.py:g", callers=[])}
        packet = apply(packet, hub_delta(packet, found, 900))
        assert hub_delta(packet, found, 900) == PacketDelta()

    def test_facts_of_nodes_no_longer_referenced_are_removed(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        both = {TARGET: facts(), "node:b.py:g": facts("node:b.py:g")}
        packet = apply(packet, hub_delta(packet, both, 900))
        delta = hub_delta(packet, {TARGET: facts()}, 900)
        assert delta.hub_context == {"node:b.py:g": None}
        assert apply(packet, delta).hub_freshness.keys() == {TARGET}

    def test_without_an_answer_known_facts_are_marked_not_fresh(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        packet = apply(packet, hub_delta(packet, {TARGET: facts(complexity=1)}, 900))
        packet = apply(packet, hub_delta(packet, {}, 900, keep=True))
        assert packet.hub_context[TARGET]["fresh"] is False
        assert packet.hub_context[TARGET]["complexity"] == 1
        assert packet.hub_freshness == {TARGET: "2026-01-01T00:00:00Z"}
        assert hub_delta(packet, {}, 900, keep=True) == PacketDelta()
        packet = apply(packet, hub_delta(packet, {TARGET: facts(complexity=1)}, 900))
        assert "fresh" not in packet.hub_context[TARGET]

    @given(
        room=st.integers(0, 900),
        nodes=st.lists(st.text("abc/é", min_size=1, max_size=30), unique=True, max_size=4),
    )
    def test_all_nodes_together_stay_within_the_room(self, room: int, nodes: list[str]) -> None:
        callers = edges(*(f"node:src/app.py:caller_{n}" for n in range(9)))
        found = {key: facts(key, callers=callers) for key in (TARGET, *nodes)}
        packet = DecisionPacket(node_id=TARGET)
        context = apply(packet, hub_delta(packet, found, room)).hub_context
        assert len(canonical(context).decode()) <= max(room, len(TARGET) + 10)
