"""An agent's conversation, from its stream."""

from pathlib import Path
from typing import Any

from remora.chat import ToolCall
from remora.exports.chat_messages import chat_messages
from remora.memory.events import (
    AgentStart,
    Event,
    ModelRequest,
    ModelResponse,
    Payload,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import BLOB_LIMIT
from remora.trace.read.reader import read_events
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
SYSTEM = {"role": "system", "content": "Choose."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def recorded(*steps: tuple[int, Payload]) -> list[Event]:
    stream = NullEventEmitter(Identity("run", "agent", "lint", "node:a.py:f"))
    start = stream.emit(AgentStart(packet=DecisionPacket(goal="Tidy up")), turn=0)
    return [start, *(stream.emit(payload, turn=turn) for turn, payload in steps)]


def messages(tmp_path: Path, *steps: tuple[int, Payload]) -> list[dict[str, Any]]:
    return chat_messages(recorded(*steps), ObjectStore(tmp_path))


def called(tool: str, decided_by: str = "model") -> ToolCalled:
    return ToolCalled(tool=tool, args={"line": 1}, decided_by=decided_by)


def function(number: int, tool: str) -> dict[str, Any]:
    told = {"name": tool, "arguments": '{"line":1}'}
    return {"id": f"call-{number}", "type": "function", "function": told}


def test_an_answer_has_its_call_and_the_call_its_complete_result(tmp_path: Path) -> None:
    output = {"text": "x" * 100}
    assert messages(
        tmp_path,
        (1, ModelRequest(messages=[SYSTEM, user("packet 1")])),
        (1, ModelResponse(text="", call=ToolCall(tool="lint", args={"line": 1}))),
        (1, called("lint")),
        (1, ToolResulted(tool="lint", raw_output=output)),
        (2, ModelRequest(messages=[SYSTEM, user("packet 2")])),
    ) == [
        SYSTEM,
        user("packet 1"),
        {"role": "assistant", "content": "", "tool_calls": [function(3, "lint")]},
        {"role": "tool", "tool_call_id": "call-3", "content": '{"text":"' + "x" * 100 + '"}'},
        user("packet 2"),
    ]


def test_a_call_of_a_rule_says_so_and_an_error_is_its_result(tmp_path: Path) -> None:
    assert messages(
        tmp_path, (1, called("lint", "rule")), (1, ToolResulted(tool="lint", error="no ruff"))
    ) == [
        {"role": "assistant", "content": None, "name": "rule", "tool_calls": [function(1, "lint")]},
        {"role": "tool", "tool_call_id": "call-1", "content": "no ruff"},
    ]


def test_each_of_two_calls_in_an_answer_has_its_own_result(tmp_path: Path) -> None:
    found = messages(
        tmp_path,
        (1, ModelRequest(prompt="?")), (1, ModelResponse(text="both")),
        (1, called("lint")), (1, called("lint")),
        (1, ToolResulted(tool="lint", raw_output="one")),
        (1, ToolResulted(tool="lint", raw_output="two")),
    )  # fmt: skip
    assert [len(message.get("tool_calls", ())) for message in found[1:]] == [2, 0, 0]
    assert [message.get("tool_call_id") for message in found[2:]] == ["call-3", "call-4"]


def test_a_long_output_is_read_from_its_blob(tmp_path: Path) -> None:
    text = "x" * (BLOB_LIMIT + 1)
    ObjectStore(tmp_path).put(text.encode())
    found = messages(tmp_path, (1, called("read")), (1, ToolResulted(tool="read", raw_output=text)))
    assert found[-1]["content"] == text


def test_a_history_is_not_repeated_in_every_request(tmp_path: Path) -> None:
    found = chat_messages(read_events(GOLDEN / "history.jsonl"), ObjectStore(tmp_path))
    assert sum(message["role"] == "system" for message in found) == 1
    goals = [message for message in found if str(message["content"]).startswith("Goal: ")]
    assert len(goals) == 1


def test_a_plain_prompt_is_a_users_message(tmp_path: Path) -> None:
    found = chat_messages(read_events(GOLDEN / "functiongemma.jsonl"), ObjectStore(tmp_path))
    assert [message["role"] for message in found] == [
        "user", "assistant", "tool", "user", "assistant", "user", "assistant", "tool",
        "user", "assistant", "tool",
    ]  # fmt: skip
