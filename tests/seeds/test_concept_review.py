"""The calls of "Concept Review: Two-Track Memory"."""

from datetime import UTC, datetime
from typing import Any

import pytest

import remora
from remora.errors import InvalidEvent


def manager() -> remora.ContextManager:
    return remora.ContextManager(
        {
            "agent_id": "lint-1",
            "goal": "Fix lint errors in foo.py",
            "operation": "lint",
            "node_id": "node:foo.py:f",
        }
    )


def test_1_1_event_names_are_an_enumeration() -> None:
    names = ("MODEL_REQUEST", "MODEL_RESPONSE", "TOOL_CALL", "TOOL_RESULT", "SUBMIT_RESULT")
    for name in (*names, "AGENT_ERROR"):
        assert remora.EventName[name] == name.lower()


def test_1_1_event_names_are_those_of_recorded_events() -> None:
    from remora.memory.events import PAYLOADS

    assert {*remora.EventName} == PAYLOADS.keys()


@pytest.mark.parametrize(
    "freshness", ["2026-01-02T03:04:05+00:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)]
)
def test_1_4_2_a_hub_update_gives_facts_of_nodes_and_their_time(freshness: Any) -> None:
    context = manager()
    facts = {"node:foo.py:f": {"callers": 3}}
    event = {"type": "hub_update", "hub_context": facts, "hub_freshness": freshness}
    delta = context.apply_event(event)
    assert context.packet.hub_context == facts == delta.hub_context
    assert context.packet.hub_freshness == {"node:foo.py:f": "2026-01-02T03:04:05+00:00"}


def test_1_4_2_the_facts_of_a_hub_update_may_be_in_data() -> None:
    context = manager()
    data = {"hub_context": {"n": {"callers": 3}}, "hub_freshness": {"n": 7}}
    context.apply_event({"type": "hub_update", "data": data})
    assert (context.packet.hub_context, context.packet.hub_freshness) == tuple(data.values())


def test_1_4_2_a_hub_update_without_facts_is_an_error() -> None:
    context = manager()
    with pytest.raises(InvalidEvent, match="without facts"):
        context.apply_event({"type": "hub_update", "data": {"node": "x"}})
    context.apply_event({"type": "hub_update", "data": {"node": "x"}}, strict=False)
    assert context.packet == manager().packet


@pytest.mark.parametrize("place", ["data", "event"])
def test_1_4_2_a_misspelled_key_of_a_hub_update_is_an_error(place: str) -> None:
    facts = {"hub_context": {"n": {"callers": 3}}, "hub_freshnes": "2026-01-01T00:00:00Z"}
    event = {"type": "hub_update", **({"data": facts} if place == "data" else facts)}
    with pytest.raises(InvalidEvent, match="did you mean 'hub_freshness'"):
        manager().apply_event(event)


def test_1_4_4_what_the_event_says_stays() -> None:
    context = manager()
    data = {"raw_output": {"result": 1, "summary": "of the tool"}, "summary": "of the event"}
    context.apply_event({"type": "tool_result", "tool": "lint", "data": data})
    assert context.packet.recent_history == ["of the event"]


def test_1_4_5_the_prompt_context_has_what_a_system_prompt_needs() -> None:
    shown = manager().get_prompt_context()
    assert {"goal", "node_id", "turn", "recent_actions", "knowledge", "last_error"} <= shown.keys()
