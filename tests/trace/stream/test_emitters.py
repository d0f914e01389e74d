"""Emitters: the same events from all of them."""

import time

import pytest

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, ContextUpdate, Event, Payload, TurnStart
from remora.trace.read.reader import read_events
from remora.trace.read.transcript import transcript
from remora.trace.stream.emitters import EventEmitter, NullEventEmitter
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.trace.conftest import AGENT, agent_identity, play_run

PAYLOADS: list[tuple[Payload, PacketDelta | None]] = [
    (TurnStart(), PacketDelta(turn=1)),
    (ContextUpdate(source="hub", value={"n": float("nan"), "long": "x" * 70_000}), None),
    (AgentEnd(status="no_change", stop_reason="no_change"), None),
]


def to_file(folder: TraceFolder) -> JsonlEventEmitter:
    return JsonlEventEmitter.open(
        folder.agent_stream(AGENT), agent_identity(), blobs=folder.blobs, clock=ticking()
    )


def emit_all(emitter: EventEmitter) -> list[Event]:
    events = [emitter.emit(payload, turn=1, delta=delta) for payload, delta in PAYLOADS]
    emitter.end_turn()
    assert (emitter.head.count, emitter.head.hash) == (3, events[-1].hash)
    with pytest.raises(StreamError):
        emitter.emit(TurnStart(), turn=2)
    emitter.close()
    emitter.close()
    return events


def test_with_and_without_a_file_events_and_hashes_are_the_same(folder: TraceFolder) -> None:
    written = emit_all(to_file(folder))
    assert list(read_events(folder.agent_stream(AGENT))) == written
    assert emit_all(NullEventEmitter(agent_identity(), ticking())) == written


class TestTranscript:
    def test_it_shows_who_was_asked_what_and_what_came_of_it(self, folder: TraceFolder) -> None:
        play_run(folder)
        text = "\n".join(transcript(read_events(folder.agent_stream(AGENT))))
        for words in [
            "agent start: None: no findings",
            "== turn 1 ==",
            "-> model (lines/1, 0 tokens)",
            "    Goal: no findings",
            '<- model:\n    {"tool":"apply_fix","args":{}}',
            "tool call: apply_fix(line=1) by model",
            "tool result: apply_fix: success, 1 changed\n    after 0 ms: ",
            "    changed src/a.py",
            "agent error: bad_call: no call",
            "agent end: submitted",
        ]:
            assert words in text
        assert text.count("== turn") == 4

    def test_control_sequences_are_escaped(self) -> None:
        emitter = NullEventEmitter(agent_identity())
        event = emitter.emit(
            AgentEnd(status="\x1b[2J", stop_reason="a\nb", error="\x9b31m"), turn=0
        )
        assert list(transcript([event])) == [r"agent end: \x1b[2J, a\x0ab", r"    \x9b31m"]


def test_a_clock_is_read_once_for_each_event() -> None:
    emitter = NullEventEmitter(agent_identity(), ticking())
    stamps = [emitter.emit(TurnStart(), turn=n).timestamp for n in range(3)]
    assert stamps == [f"2026-01-02T03:04:0{second}.000006Z" for second in (6, 7, 8)]


@pytest.mark.slow
def test_appending_keeps_up_with_any_agent(folder: TraceFolder) -> None:
    """The benchmark asks for 20,000 events/s; this floor only catches a slip of kind."""
    writer = JsonlEventEmitter.open(
        folder.agent_stream(AGENT), agent_identity(), blobs=folder.blobs, durability="none"
    )
    payload = ContextUpdate(source="hub", value={"found": ["x" * 40] * 4})
    start = time.process_time()  # others may be at work here too
    for _ in range(10_000):
        writer.emit(payload, turn=1)
    assert 10_000 / (time.process_time() - start) > 4_000
    writer.close()
