"""The raw history, kept for comparisons: it grows with the stream, the packet does not."""

from remora.chat import ToolSchema
from remora.memory.events import Event, ToolCalled, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.render import HISTORY, reads_history, render
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

TOOLS = [ToolSchema(name="read", description="Read.")]
PACKET = DecisionPacket(goal="Tidy up", node_id="node:a.py:f")


def _history(results: int) -> list[Event]:
    emitter = NullEventEmitter(Identity("r", "a", "lint", "node:a.py:f"))
    events = []
    for turn in range(1, results + 1):
        events.append(emitter.emit(ToolCalled(tool="read", args={"n": turn}), turn=turn))
        raw = {"text": "x" * 500, "turn": turn}
        events.append(emitter.emit(ToolResulted(tool="read", raw_output=raw), turn=turn))
    return events


def _shown(history: list[Event]) -> str:
    messages = render(HISTORY, PACKET, TOOLS, "grammar", history).messages
    assert messages is not None
    return messages[1].content


def test_every_call_is_shown_with_its_whole_output() -> None:
    text = _shown(_history(2))
    assert 'call: read {"n":1}' in text
    assert text.count("x" * 500) == 2
    assert text.index('"turn":1') < text.index('"turn":2')
    assert "Goal: Tidy up" in text


def test_history_name_is_known_to_verification() -> None:
    assert reads_history(HISTORY)
    assert not reads_history("history/2")
