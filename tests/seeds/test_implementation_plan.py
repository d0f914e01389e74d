"""The calls of "Two-Track Memory Implementation Plan (v2)"."""

from typing import Any

import pytest

from remora import ContextManager, DecisionPacket, PacketDelta
from remora.errors import UsageError
from remora.memory.packet import Fact, NewAction


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


def test_2_a_context_begins_with_a_goal() -> None:
    assert ContextManager("Fix bug in foo.py").packet == DecisionPacket(goal="Fix bug in foo.py")


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


def test_2_a_delta_can_set_an_error() -> None:
    context = ContextManager("g")
    delta = PacketDelta(set_error="IndentError on line 5")
    context.apply_event({"type": "tool_result", "tool_name": "t", "raw_output": "", "delta": delta})
    assert context.packet.last_error == "IndentError on line 5"


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
