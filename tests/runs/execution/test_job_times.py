"""Times of jobs, read from their streams."""

from typing import Any

import msgspec

from remora.memory.events import Event
from remora.runs.execution.job_times import job_times


def event(second: float, kind: str, turn: int = 0, **data: Any) -> Event:
    return Event(
        v=1, seq=0, timestamp=f"2026-01-01T00:00:{second:06.3f}Z", run_id="r", agent_id="a",
        operation="o", node_id="n", turn=turn, type=kind, packet_delta=None,
        data=msgspec.Raw(msgspec.json.encode(data)),
    )  # fmt: skip


def test_time_of_a_model_ends_with_its_answer_or_error() -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 9}
    found = job_times(
        [
            event(0, "agent_start", model={"provider": "openai", "name": "m"}),
            event(1, "model_request", 1, prompt_tokens=100),
            event(3, "model_response", 1, usage=usage),
            event(3, "model_request", 1, prompt_tokens=100),
            event(4, "model_response", 1, usage={}),  # a server that counts nothing
            event(6, "tool_call", 1),
            event(7, "model_request", 2, prompt_tokens=50),
            event(8.5, "agent_error", 2),
            event(9, "agent_end", 2),
        ]
    )
    assert found is not None
    assert (found.provider, found.model, found.decisions) == ("openai", "m", 2)
    assert (found.seconds, found.model_seconds) == (9.0, 4.5)
    assert (found.prompt_tokens, found.answer_tokens) == (220, 9)


def test_a_job_that_has_not_ended_has_no_times() -> None:
    assert job_times([event(0, "agent_start")]) is None
