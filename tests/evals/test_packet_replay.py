"""A stream folded again gives what was recorded, and only what a setting changes differs."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.agents.named_summarizers import summarizers_in
from remora.chat import ToolSchema
from remora.evals.eval_setting import RECORDED, EvalSetting, setting_combinations
from remora.evals.packet_replay import PacketReplay, recorded_result
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import AgentStart, Event, ToolCalled, ToolResulted, payload
from remora.memory.packet import DecisionPacket, Fact
from remora.memory.projection import apply, first_packet, replay
from remora.models.token_counters import UpperBound
from remora.trace.read.reader import read_events
from remora.trace.read.state_at import packet_at
from tests.golden.test_golden import AGENTS, OF_AGENTS

CHANGED = ("update_knowledge", "set_error", "excerpt", "diagnostics", "state_summary")


def started(events: list[Event]) -> AgentStart:
    start = payload(events[0])
    assert isinstance(start, AgentStart)
    return start


def refolded(events: list[Event], setting: EvalSetting, mode: str | None = None) -> list[Any]:
    """What each call would have been shown; then the last packet."""
    start = started(events)
    says = None if mode is None else summarizers_in(mode, {}, [t.name for t in start.tools])
    fold = PacketReplay(events[0], start, setting, UpperBound(), says)
    shown: list[Any] = []
    for event in events[1:]:
        said = payload(event)
        if isinstance(said, ToolCalled):
            shown.append((said, fold.packet_for_call(said)))
        fold.apply_event(event, said)
    return [*shown, fold.packet]


def speaks_for_itself(result: ToolResulted) -> bool:
    return recorded_result(result).get("knowledge_delta") is not None


@OF_AGENTS
def test_a_recorded_result_says_again_what_it_said(path: Path) -> None:
    """The delta made from the event is the one that was recorded: nothing else went into it, but
    what a summarizer said: a script runs again elsewhere, and the default's facts have no version.
    """
    events = list(read_events(path))
    limit = started(events).limit
    packet, made_again = first_packet(events[0]), 0
    for event in events[1:]:
        result = payload(event)
        if isinstance(result, ToolResulted) and not result.summarized:
            context = ContextManager({}, packet_size_limit=limit,
                                     token_counter=UpperBound().count_text)  # fmt: skip
            context.packet = packet
            made, recorded = context.delta_for(recorded_result(result)), event.packet_delta
            assert recorded is not None
            assert made.add_action == recorded.add_action
            for key in CHANGED if speaks_for_itself(result) else CHANGED[1:]:
                if recorded.extensions is msgspec.UNSET and made.extensions is msgspec.UNSET:
                    assert getattr(made, key) == getattr(recorded, key), key
            made_again += 1
        packet = apply(packet, event.packet_delta)
    assert made_again >= 2 or path.stem == "scripts"


@OF_AGENTS
def test_as_recorded_it_shows_what_was_shown_also_by_the_recorded_limit(path: Path) -> None:
    events = list(read_events(path))
    *calls, last = refolded(events, RECORDED)
    for call, fitted in calls:
        assert fitted.packet == packet_at(events, fitted.packet.turn)
        assert fitted.trim == call.trim
    assert last == replay(events)
    asked = [(c, f) for c, f in calls if c.decided_by != "rule"]
    again = refolded(events, EvalSetting(limit=started(events).limit))[:-1]
    by_model = [f for c, f in again if c.decided_by != "rule"]
    assert [f.packet for f in by_model] == [f.packet for _, f in asked]
    assert all(f.fits for f in by_model)


def test_some_recorded_packets_were_trimmed() -> None:
    trims = [f.trim for path in AGENTS for _, f in refolded(list(read_events(path)), RECORDED)[:-1]]
    assert max(trims) > 3


@OF_AGENTS
def test_a_smaller_limit_only_trims_and_other_summarizers_change_words_and_facts_alone(
    path: Path,
) -> None:
    events = list(read_events(path))
    full: DecisionPacket = refolded(events, RECORDED)[-1]
    *calls, last = refolded(events, EvalSetting(limit=500))
    assert msgspec.structs.replace(last, excerpt=None) == msgspec.structs.replace(
        full, excerpt=None
    )
    assert all(fitted.tokens <= 500 or not fitted.fits for _, fitted in calls)
    other: DecisionPacket = refolded(events, EvalSetting(summarizers="tool_side"), "tool_side")[-1]
    for key in ("turn", "diagnostics", "candidate_actions", "excerpt", "error_count", "extensions"):
        assert getattr(other, key) == getattr(full, key), key
    assert set(other.knowledge) <= set(full.knowledge)


def a_stream(**result: Any) -> list[Event]:
    """An agent whose only result failed with a summary for an error."""
    packet = DecisionPacket(knowledge={"old": Fact(value="fact", source_turn=0)})
    start = AgentStart(packet=packet, limit=3000, renderer="lines/1", tools=(ToolSchema(name="t"),))
    failed = ToolResulted(tool="t", outcome="error", **result)
    delta = PacketDelta(
        add_action=new_action("t", {}, "in the tool's words", "error"),
        set_error="in the tool's words",
    )
    told = [(start, None), (failed, delta), (ToolCalled(tool="t", trim=0), None)]
    return [
        Event(v=1, seq=seq, timestamp="", run_id="", agent_id="", operation="", node_id="", turn=0,
              type=said.type, data=msgspec.Raw(msgspec.json.encode(said)), packet_delta=made)
        for seq, (said, made) in enumerate(told)
    ]  # fmt: skip


def test_an_error_that_is_the_summary_follows_it_and_one_of_its_own_stays() -> None:
    events = a_stream(raw_output={"x": 1})
    _, fitted = refolded(events, EvalSetting(summarizers="tool_side"), "tool_side")[0]
    assert fitted.packet.last_error == "Tool completed"
    assert fitted.packet.recent_actions[0].summary == "Tool completed"
    events = a_stream(raw_output={"x": 1}, error="in the tool's words")
    _, fitted = refolded(events, EvalSetting(summarizers="tool_side"), "tool_side")[0]
    assert fitted.packet.last_error == "in the tool's words"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (((), (), ()), []),
        ((("default",), (), ()), ["default"]),
        (((), (600, 300, 600), ()), ["600 tokens", "300 tokens"]),
        ((("default",), (600,), ("json", "history")),
         ["default, 600 tokens, json/1", "default, 600 tokens, history/1"]),
    ],
)  # fmt: skip
def test_settings_are_every_combination(asked: Any, names: list[str]) -> None:
    assert [setting.name for setting in setting_combinations(*asked)] == names
