"""The calls of "Two-Track Memory Implementation Plan (v2)"."""

import re
from typing import Any

import pytest

from remora import ContextManager, DecisionPacket, PacketDelta
from remora.errors import UsageError
from remora.memory.canonical import json_text
from remora.memory.packet import Candidate, Fact, NewAction
from remora.memory.projection import apply

START: dict[str, Any] = {
    "goal": "g",
    "candidate_actions": [{"tool": "a", "args": {"a": 1}}],
    "recent_actions": [{"tool": "a", "args": {"a": 1}, "summary": "s"}],
    "diagnostics": [{"line": 3}],
    "knowledge": {"k": 1},
}
EXCERPT = {"ref": "f", "path": "a.py", "lines": [1, 1], "text": "def f(): ..."}


def test_1_a_delta_has_history_knowledge_and_an_error() -> None:
    delta = PacketDelta(
        add_history="Read foo.py", update_knowledge={"foo.py": "class Bar"}, set_error="boom"
    )
    context = ContextManager("Fix bug in foo.py")
    context.run_middleware([lambda _packet: delta])
    assert context.packet.recent_history == ["Read foo.py"]
    assert context.packet.knowledge == {"foo.py": Fact(value="class Bar", source_turn=0)}
    assert context.packet.last_error == "boom"


def test_1_history_is_recorded_as_an_action() -> None:
    context = ContextManager("g")
    (recorded,) = context.run_middleware([lambda _packet: PacketDelta(add_history="Looked")])
    assert recorded == PacketDelta(add_action=NewAction(tool="", summary="Looked"))


@pytest.mark.parametrize("as_record", [True, False])
def test_2_a_tool_result_carries_its_delta(as_record: bool) -> None:
    stated: dict[str, Any] = {
        "add_history": "Read foo.py",
        "update_knowledge": {"foo.py": "class Bar"},
    }
    event = {
        "type": "tool_result",
        "tool_name": "read_file",
        "raw_output": "def foo()...",
        "delta": PacketDelta(**stated) if as_record else stated,
    }
    context = ContextManager("g")
    context.apply_event(event)
    (action,) = context.packet.recent_actions
    assert (action.tool, action.summary) == ("read_file", "Read foo.py")
    assert {key: fact.value for key, fact in context.packet.knowledge.items()} == {
        "foo.py": "class Bar"
    }


def test_2_what_a_delta_does_not_say_is_taken_from_the_result() -> None:
    said = {"result": 1, "summary": "s", "knowledge_delta": {"k": 1, "both": 1}}
    event: dict[str, Any] = {"type": "tool_result", "tool": "t", "raw_output": said}
    context = ContextManager("g")
    context.apply_event({**event, "delta": {"add_history": "h", "update_knowledge": {"both": 2}}})
    assert context.packet.recent_history == ["h"]
    assert {key: fact.value for key, fact in context.packet.knowledge.items()} == {
        "k": 1,
        "both": 2,
    }
    delta = context.apply_event(
        {**event, "knowledge_delta": {"own": 1}, "delta": PacketDelta(add_history="h")}
    )
    assert delta.update_knowledge == {"own": 1}


def test_2_a_delta_without_knowledge_leaves_it_to_the_summarizer() -> None:
    context = ContextManager("g")
    context.apply_event(
        {"tool": "t", "raw_output": {"a": 1}, "packet_delta": {"add_history": "Looked"}}
    )
    assert context.packet.recent_history == ["Looked"]
    assert context.packet.knowledge["t"].value == "a=1"


def test_2_a_value_of_a_delta_may_be_any_object() -> None:
    context = ContextManager("g")
    delta = PacketDelta(update_knowledge={"type": int})
    context.apply_event({"type": "tool_result", "tool": "t", "raw_output": "", "delta": delta})
    assert context.packet.knowledge["type"].value == "<class 'int'>"


@pytest.mark.parametrize("as_record", [True, False])
def test_2_all_fields_of_a_delta_take_effect(as_record: bool) -> None:
    stated: dict[str, Any] = {"forget_knowledge": ("old",), "hub_context": {"n": {"callers": 1}}}
    context = ContextManager({"goal": "g", "knowledge": {"old": 1}})
    delta = PacketDelta(**stated) if as_record else stated
    context.apply_event({"type": "tool_result", "tool_name": "t", "raw_output": "", "delta": delta})
    assert context.packet.hub_context == {"n": {"callers": 1}}
    assert context.packet.knowledge == {}


class TestHooksThatChangeThePacket:
    """Section 6: external systems modify the packet in place."""

    def test_knowledge_is_recorded(self) -> None:
        def hook(packet: Any) -> None:
            packet.knowledge.update({"foo.py": "Contains class Bar"})
            packet.last_error = "stale"
            packet.hub_context["n"] = {"callers": 3}

        context = ContextManager("g")
        recorded = context.run_middleware([hook])
        assert recorded == [
            PacketDelta(
                update_knowledge={"foo.py": "Contains class Bar"},
                set_error="stale",
                hub_context={"n": {"callers": 3}},
            )
        ]
        assert context.packet.knowledge["foo.py"].value == "Contains class Bar"

    def test_removals_are_recorded(self) -> None:
        def hook(packet: Any) -> None:
            del packet.knowledge["old"]
            packet.extensions.pop("x")
            packet.diagnostics.append("E501 line 3")

        start = {"goal": "g", "knowledge": {"old": 1, "kept": 2}, "extensions": {"x": 1}}
        context = ContextManager(start)
        context.run_middleware([hook])
        assert context.packet.knowledge.keys() == {"kept"}
        assert context.packet.extensions == {}
        assert context.packet.diagnostics == ("E501 line 3",)

    @pytest.mark.parametrize("name", ["recent_history", "recent_actions"])
    def test_a_text_that_is_appended_is_an_action(self, name: str) -> None:
        context = ContextManager("g")
        context.run_middleware([lambda packet: getattr(packet, name).append("Asked the Hub")])
        assert context.packet.recent_history == ["Asked the Hub"]

    def test_a_change_and_a_returned_delta_are_both_applied(self) -> None:
        def hook(packet: Any) -> PacketDelta:
            packet.knowledge["a"] = 1
            return PacketDelta(update_knowledge={"b": 2})

        context = ContextManager("g")
        assert len(context.run_middleware([hook])) == 2
        assert context.packet.knowledge.keys() == {"a", "b"}

    def test_nothing_changed_is_nothing_recorded(self) -> None:
        context = ContextManager("g")
        before = context.packet
        assert context.run_middleware([lambda _packet: None]) == []
        assert context.packet is before

    def test_facts_of_a_list_can_be_changed(self) -> None:
        context = ContextManager({"goal": "g", "knowledge": {"files": ["a.py"]}})
        recorded = context.run_middleware(
            [lambda packet: packet.knowledge["files"].value.append("b.py")]
        )
        assert recorded == [PacketDelta(update_knowledge={"files": ["a.py", "b.py"]})]

    @pytest.mark.parametrize(
        ("change", "field", "value"),
        [
            (lambda p: p.candidate_actions.append({"tool": "b"}), "candidate_actions", "b"),
            (lambda p: setattr(p.candidate_actions[0], "tool", "c"), "candidate_actions", "c"),
            (lambda p: p.candidate_actions[0].args.update(a=9), "candidate_actions", 9),
            (lambda p: p.diagnostics[0].update(line=9), "diagnostics", 9),
            (lambda p: setattr(p.knowledge["k"], "value", True), "knowledge", True),
            (lambda p: p.hub_context["n"].update(callers=True), "hub_context", True),
            (lambda p: p.knowledge.update({3: "x"}), "knowledge", "x"),
            (lambda p: setattr(p, "excerpt", EXCERPT), "excerpt", "def f(): ..."),
            (lambda p: p.recent_history.append("Asked"), "recent_actions", "Asked"),
        ],
    )
    def test_a_change_in_a_part_is_recorded_and_replayed(
        self, change: Any, field: str, value: Any
    ) -> None:
        def context() -> ContextManager:
            made = ContextManager(START)
            made.run_middleware([lambda _packet: PacketDelta(hub_context={"n": {"callers": 1}})])
            return made

        changed = context()
        (recorded,) = changed.run_middleware([lambda packet: change(packet) and None])
        assert json_text(value) in json_text(getattr(changed.packet, field))
        assert apply(context().packet, recorded) == changed.packet
        returning, returned = context(), lambda packet: (change(packet), packet)[1]
        returning.run_middleware([returned])
        assert returning.packet == changed.packet

    @pytest.mark.parametrize(
        "change",
        [
            lambda p: p.candidate_actions[0].args.update(a=9),
            lambda p: p.recent_actions[0].args.update(a=9),
            lambda p: p.diagnostics[0].update(line=9),
            lambda p: p.knowledge["k"].value.append(2),
        ],
        ids=["candidate", "action", "diagnostic", "fact"],
    )
    def test_a_refused_hook_changes_no_part(self, change: Any) -> None:
        context = ContextManager({**START, "knowledge": {"k": [1]}})
        before = json_text(context.packet)

        def hook(packet: Any) -> None:
            change(packet)
            packet.goal = "other"

        with pytest.raises(UsageError):
            context.run_middleware([hook])
        assert json_text(context.packet) == before

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda p: setattr(p, "excerpt", {"text": "x"}), "missing required field `ref`"),
            (lambda p: setattr(p, "knowledge", None), "knowledge to a NoneType"),
            (lambda p: setattr(p, "hub_context", None), "hub_context to a NoneType"),
            (lambda p: setattr(p, "last_error", ValueError()), "got `ValueError`"),
            (lambda p: setattr(p, "turn", "x"), "Expected `int`, got `str` - at `$.turn`"),
            (lambda p: setattr(p, "state_summary", None), "Expected `str`, got `null`"),
            (lambda p: setattr(p, "diagnostics", "F401"), "Expected `array`, got `str`"),
            (lambda p: p.candidate_actions.append({"args": {}}), "missing required field `tool`"),
            (lambda p: p.candidate_actions.append(Candidate(tool=5)), "got `int`"),  # type: ignore[arg-type]
            (lambda p: p.constraints.safety.append("x"), "a hook changed constraints"),
            (lambda p: setattr(p.recent_actions[0], "args", {"a": 9}), "changed earlier actions"),
            (lambda _p: PacketDelta(turn="x"), "Expected `int`, got `str`"),  # type: ignore[arg-type]
            (lambda _p: {"add_history": "h"}, "a hook returned a value of type dict"),
            (lambda _p: DecisionPacket(), "a hook returned a value of type DecisionPacket"),
        ],
    )
    def test_a_value_of_the_wrong_type_is_refused_with_the_way(
        self, change: Any, message: str
    ) -> None:
        context = ContextManager(START)
        before = context.packet
        learn: Any = lambda packet: packet.knowledge.update(a=1)  # noqa: E731
        with pytest.raises(UsageError, match=re.escape(message)) as caught:
            context.run_middleware([learn, change])
        assert caught.value.hint
        assert context.packet is before

    def test_history_beside_an_action_is_refused(self) -> None:
        both = PacketDelta(add_action=NewAction(tool="t"), add_history="h")
        with pytest.raises(UsageError, match="has add_action and add_history"):
            ContextManager("g").run_middleware([lambda _packet: both])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda packet: setattr(packet, "goal", "other"), "a hook changed goal"),
            (lambda packet: setattr(packet, "node_id", "x"), "a hook changed node_id"),
            (lambda packet: packet.recent_history.extend("ab"), "or added several"),
            (lambda packet: packet.recent_history.clear(), "changed earlier actions"),
        ],
    )
    def test_what_no_delta_can_say_is_refused_and_nothing_changes(
        self, change: Any, message: str
    ) -> None:
        context = ContextManager("g")
        context.run_middleware([lambda _packet: PacketDelta(add_history="first")])
        before = context.packet
        learn = [lambda packet: packet.knowledge.update(a=1), change]
        with pytest.raises(UsageError, match=message) as caught:
            context.run_middleware(learn)
        assert caught.value.hint
        assert context.packet == before
