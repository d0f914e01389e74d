"""The calls of "Two-Track Memory Concept (v2)"."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import remora
from remora import ContextManager, PacketDelta
from remora.errors import InvalidEvent
from remora.memory.events import AgentStart, ContextUpdate, Event, TurnStart
from remora.memory.packet import DecisionPacket
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity
from tests.seeds.paper_blocks import block, paper_json

EVENT = paper_json(block("The"))


def stream() -> list[Event]:
    emitter = NullEventEmitter(Identity("run", "agent", "lint", "node:a.py:f"))
    first = DecisionPacket(goal="Tidy up", node_id="node:a.py:f")
    return [
        emitter.emit(AgentStart(packet=first), turn=0),
        emitter.emit(TurnStart(), turn=1, delta=PacketDelta(turn=1)),
        emitter.emit(
            ContextUpdate(source="hub"), turn=1, delta=PacketDelta(update_knowledge={"callers": 3})
        ),
    ]


def lines() -> list[bytes]:
    return [msgspec.json.encode(event) for event in stream()]


def test_2_a_summary_names_what_a_tool_read() -> None:
    context = ContextManager("Fix bug in file.py")
    text = "\n".join(f"line {number}" for number in range(500))
    data = {"args": {"path": "file.py"}, "raw_output": text}
    context.apply_event({"type": "tool_result", "tool": "read_file", "data": data})
    assert context.packet.recent_history == ["Read 500 lines of file.py"]


@pytest.mark.parametrize(
    ("tool", "args", "summary"),
    [
        ("read_file", {"encoding": "utf-8", "path": "x.py"}, "Read 2 lines of x.py"),
        ("read_setting", {"name": "x"}, "Executed read_setting: a b"),
        ("ready", {"path": "what"}, "Executed ready: a b"),
    ],
)
def test_2_a_summary_names_nothing_that_was_not_read(
    tool: str, args: dict[str, Any], summary: str
) -> None:
    context = ContextManager("g")
    data = {"args": args, "raw_output": "a\nb"}
    context.apply_event({"type": "tool_result", "tool": tool, "data": data})
    assert context.packet.recent_history == [summary]


def test_4_a_line_of_json_is_applied() -> None:
    context = ContextManager("Fix bug in foo.py")
    context.apply_event(json.dumps(EVENT))
    assert context.packet.recent_history == ["Read file foo.py"]


@pytest.mark.parametrize("form", ["events", "lines", "texts", "dicts"])
def test_3_a_log_is_replayed_event_by_event_or_as_a_whole(form: str) -> None:
    forms: dict[str, list[Any]] = {
        "events": [*stream()],
        "lines": lines(),
        "texts": [line.decode() for line in lines()],
        "dicts": [json.loads(line) for line in lines()],
    }
    context = ContextManager("another goal")
    for event in forms[form]:
        context.apply_event(event)
    assert context.packet == remora.replay(forms[form])
    assert (context.packet.goal, context.packet.turn) == ("Tidy up", 1)
    assert context.packet.knowledge["callers"].value == 3


def test_3_a_log_is_replayed_from_its_file(tmp_path: Path) -> None:
    log = tmp_path / "agent.jsonl"
    log.write_bytes(b"".join(line + b"\n" for line in lines()))
    assert [event.type for event in remora.read_events(str(log))] == [
        "agent_start",
        "turn_start",
        "context_update",
    ]
    assert remora.replay(log) == remora.replay(str(log)) == remora.replay(stream())


@pytest.mark.parametrize(
    "damaged",
    [
        '{"a":' * 100_000,
        "not json",
        "[1]",
        b"\xff",
        {"v": 1, "seq": 0},
        {"v": 2, "seq": 0},
        '{"v": 1, "seq": "x"}',
    ],
)
def test_3_a_damaged_line_is_an_error_and_changes_nothing(damaged: Any) -> None:
    context = ContextManager("g")
    before = context.packet
    with pytest.raises(InvalidEvent, match="not an event of a stream"):
        context.apply_event(damaged)
    assert context.packet == before


def test_3_a_plain_dict_within_a_stream_cannot_be_replayed() -> None:
    with pytest.raises(InvalidEvent, match="a plain dict is not an event of a stream"):
        remora.replay([*stream(), EVENT])


def test_4_the_pull_hook_updates_knowledge_before_the_prompt() -> None:
    context = ContextManager({"goal": "g", "node_id": "node:foo.py:f"})

    def hook(packet: Any) -> None:
        packet.knowledge.update({packet.node_id: "2 callers"})

    context.run_middleware([hook])
    assert context.get_prompt_context()["knowledge"] == {"node:foo.py:f": "2 callers"}
