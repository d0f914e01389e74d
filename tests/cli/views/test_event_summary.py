"""A line of `trace show` says how a request repeats the one before, and what an answer contains."""

from typing import Any

import msgspec
import pytest

from remora.chat import ToolCall
from remora.memory.events import Escalation, Event, ModelRequest, ModelResponse, Payload
from remora.trace.read.event_summary import summarize_event


def line(payload: Payload) -> str:
    event = Event(
        v=1,
        seq=1,
        timestamp="2026-01-01T00:00:00.000Z",
        run_id="r",
        agent_id="a",
        operation="o",
        node_id="node:m.py:f",
        turn=1,
        type=payload.type,
        data=msgspec.Raw(msgspec.json.encode(payload)),
        packet_delta=None,
    )
    return summarize_event(event)


@pytest.mark.parametrize(("decoding", "model", "end"), [({}, "", "packet 0123456789ab")])
def test_a_repeated_request(decoding: dict[str, Any], model: str, end: str) -> None:
    request = ModelRequest(
        renderer="lines/2",
        decoding=decoding,
        packet_sha256="0123456789abcdef",
        prompt_tokens=70,
        model=model,
    )
    assert line(request) == f"70 tokens, lines/2, {end}"


def test_a_request_to_another_model() -> None:
    request = ModelRequest(renderer="long_track/1", prompt_tokens=7, model="large")
    assert line(request).startswith("to large, 7 tokens, long_track/1")


@pytest.mark.parametrize(
    ("calls", "expected"), [(1, "say(x=1)"), (2, "first of 2 calls: say(x=1)"), (0, "say(x=1)")]
)
def test_only_the_first_call_of_an_answer_counts(calls: int, expected: str) -> None:
    listed: list[dict[str, Any]] = [{"function": {}}] * calls
    raw = {"choices": [{"message": {"tool_calls": listed}}]}
    assert line(ModelResponse(call=ToolCall(tool="say", args={"x": 1}), raw=raw)) == expected


@pytest.mark.parametrize("raw", [None, [], {"choices": []}, {"choices": [{}]}, {"choices": 1}])
def test_a_response_of_another_form_shows_its_call(raw: Any) -> None:
    assert line(ModelResponse(call=ToolCall(tool="say", args={}), raw=raw)) == "say()"


def test_an_escalation_names_the_model_and_the_reason() -> None:
    step = Escalation(reason="no answer passed the checks", model={"name": "large"})
    assert line(step) == "to large: no answer passed the checks"
