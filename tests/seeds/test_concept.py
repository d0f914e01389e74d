"""The calls of "Two-Track Memory Concept", with the packet of a debugger."""

from typing import Any

import pytest

import remora
from remora import ContextManager
from remora.errors import UsageError
from remora.testing import build_events
from tests.seeds.paper_blocks import block, paper_json

PACKET, ENTRY = paper_json(block("Short")), paper_json(block("Long"))


def test_short_track_the_packet_is_an_initial_context() -> None:
    packet = ContextManager(PACKET).packet
    assert (packet.agent_id, packet.turn) == ("dbg_abc123", 6)
    assert (packet.node_id, packet.node_type) == ("func_process", "function")
    assert packet.state_summary == PACKET["state_summary"]
    assert packet.diagnostics == ("AssertionError", "result is None")
    assert [(c.tool, c.args, c.reason) for c in packet.candidate_actions] == [
        ("print_var", {"name": "result"}, "Check None value"),
        ("list_frames", {}, "Inspect call stack"),
    ]
    (action,) = packet.recent_actions
    assert (action.tool, action.summary) == ("list_frames", "3 frames; user code at frame 1")
    assert (packet.constraints.max_turns, packet.constraints.safety) == (20, ("no_eval_exec",))


def test_short_track_an_unknown_key_is_refused_and_extensions_are_named() -> None:
    with pytest.raises(UsageError, match="did you mean 'diagnostics'") as caught:
        ContextManager({"goal": "g", "diagnostic": []})
    assert "extensions" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"constraints": {"max_turn": 3}}, "no key 'max_turn' in constraints of .* 'max_turns'"),
        ({"constraints": {"max_turns": "x"}}, r"got `str` - at `\$.constraints.max_turns`"),
        ({"turn": "3"}, r"Expected `int`, got `str` - at `\$.turn`"),
        ({"excerpt": {"file": "a.py"}}, "no key 'file' in excerpt of an initial context"),
        ({"node": {"name": "f"}}, "no key 'name' in node of an initial context"),
        (
            {"recent_actions": ["a"], "recent_results": ["b"]},
            "an initial context has recent_actions and recent_results",
        ),
    ],
)
def test_short_track_nothing_that_is_given_is_dropped(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ContextManager({"goal": "g", **given})


@pytest.mark.parametrize("key", ["constraints", "excerpt", "extensions", "knowledge", "node"])
def test_short_track_a_value_of_the_wrong_form_is_named(key: str) -> None:
    with pytest.raises(UsageError, match=f"{key} of an initial context must be a mapping"):
        ContextManager({"goal": "g", key: ["x"]})


def test_long_track_events_for_tests_are_built_from_entries() -> None:
    hub = {"type": "hub_update", "hub_context": {"n": {"callers": 3}}}
    events = build_events("Find the bug", [ENTRY, hub, remora.PacketDelta()])
    assert remora.replay(events).diagnostics == ("result is None",)
    assert [event.type for event in events[1:]] == ["tool_result", *["context_update"] * 2]


def test_long_track_a_trace_entry_is_an_event() -> None:
    context = ContextManager("Find the bug")
    context.apply_event(ENTRY)
    packet = context.packet
    assert packet.turn == 6
    assert packet.diagnostics == ("result is None",)
    (action,) = packet.recent_actions
    assert (action.turn, action.tool, action.args) == (6, "print_var", {"name": "result"})
    assert action.summary == "Executed print_var: None"


@pytest.mark.parametrize("result", [{}, {"result": None}])
def test_long_track_the_parsed_output_may_be_the_contract(result: dict[str, Any]) -> None:
    context = ContextManager("Find the bug")
    parsed = {**result, "summary": "result is None", "knowledge_delta": {"result": None}}
    context.apply_event({**ENTRY, "parsed_output": parsed})
    assert context.packet.recent_history == ["result is None"]
    assert {key: fact.value for key, fact in context.packet.knowledge.items()} == {"result": None}


def test_long_track_a_delta_of_an_entry_may_have_all_keys_of_a_packet() -> None:
    context = ContextManager("Find the bug")
    said = {
        "recent_results": [{"tool": "print_var", "summary": "result is None"}],
        "state_summary": "in process_data",
        "candidate_actions": PACKET["candidate_actions"],
        "result": None,
    }
    context.apply_event({**ENTRY, "packet_delta": said})
    assert context.packet.recent_history == ["result is None"]
    assert context.packet.state_summary == "in process_data"
    assert len(context.packet.candidate_actions) == 2


def test_integration_a_packet_builder_is_the_context_manager() -> None:
    assert remora.PacketBuilder is remora.ContextManager


def test_principles_the_packet_is_bounded() -> None:
    context = ContextManager({"goal": "g " * 140}, packet_size_limit=20)
    with pytest.raises(UsageError, match="more than the limit of 20") as caught:
        context.get_prompt_context()
    assert "packet_size_limit" in caught.value.hint
