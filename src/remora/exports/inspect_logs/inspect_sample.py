"""Conversion of an agent's stream to a JSON sample of an Inspect log."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from remora.exports.run_bundles import Attempt
from remora.exports.stream_summary import AgentSummary
from remora.memory.canonical import json_text
from remora.memory.events import (
    AgentError,
    Event,
    ModelRequest,
    ModelResponse,
    ToolCalled,
    ToolResulted,
)
from remora.trace.blobs import resolved_data
from remora.trace.read.reader import event_data, read_events
from remora.trace.trace_folder import TraceFolder

Json = dict[str, Any]
_STOPS = {
    "stop": "stop",
    "eos": "stop",
    "word": "stop",
    "length": "max_tokens",
    "limit": "max_tokens",
}
_REFUSED = frozenset({"rejected", "retried", "reverted"})


def inspect_sample(folder: TraceFolder, survey: AgentSummary, attempt: Attempt) -> Json:
    """Return the sample for an agent, with events and messages in stream order."""
    builder = _SampleBuilder(folder, survey)
    for event in read_events(folder.existing_agent(survey.agent_id)):
        builder.take(event)
    packet = survey.start.packet
    return {
        "id": survey.agent_id,
        "epoch": 1,
        "uuid": survey.agent_id,
        "input": packet.goal,
        "target": "",
        "messages": builder.messages,
        "events": builder.events,
        "output": {"model": model_name(survey), "completion": builder.submitted},
        "scores": dict(_scores(survey, attempt)),
        "metadata": {
            "run_id": survey.run_id,
            "operation": survey.operation,
            "node_id": survey.node_id,
            "attempt": survey.start.attempt,
            "status": survey.status,
            "stop_reason": survey.stop_reason,
            "verdict": attempt.verdict,
            "feedback": attempt.feedback,
            "head": msgspec.to_builtins(survey.head),
        },
        "model_usage": {model_name(survey): usage(survey.input_tokens, survey.output_tokens)},
        "started_at": survey.began,
        "completed_at": survey.ended,
        "total_time": _seconds_between(survey.began, survey.ended),
        **({"error": _failure(survey)} if survey.status == "error" else {}),
    }


def model_name(survey: AgentSummary) -> str:
    """Return the model's name in the format that Inspect uses, `PROVIDER/MODEL`."""
    return f"{survey.start.model.get('provider') or 'remora'}/{survey.model}"


def usage(input_tokens: int, output_tokens: int) -> Json:
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


class _SampleBuilder:
    """Builds the messages and events of a sample from the events of a stream."""

    def __init__(self, folder: TraceFolder, survey: AgentSummary) -> None:
        self._blobs = folder.blobs
        self._survey = survey
        self._request: tuple[Event, Json] | None = None
        self._call: tuple[Event, Json] | None = None
        self.messages: list[Json] = []
        self.events: list[Json] = []
        self.submitted = ""

    def take(self, event: Event) -> None:
        if event.type == ModelRequest.type:
            self._request = event, resolved_data(event, self._blobs)
        elif event.type == ModelResponse.type and self._request is not None:
            self._answered(self._request, event, resolved_data(event, self._blobs))
            self._request = None
        elif event.type == ToolCalled.type:
            self._call = event, event_data(event)
            self.messages.append(self._calling(event, self._call[1]))
        elif event.type == ToolResulted.type and self._call is not None:
            self._resulted(self._call, event, event_data(event))
            self._call = None
        elif event.type == AgentError.type:
            data = event_data(event)
            self._add_event(event, "info", source="remora", data=_pick(data, "kind", "message"))

    def _add_event(self, event: Event, kind: str, **fields: Any) -> None:
        self.events.append(
            {
                "event": kind,
                "uuid": f"{event.agent_id}.{event.seq}",
                "timestamp": event.timestamp,
                "working_start": _seconds_between(self._survey.began, event.timestamp),
                "metadata": {"turn": event.turn, "seq": event.seq, "line_hash": event.hash},
                **fields,
            }
        )

    def _answered(self, asked: tuple[Event, Json], end: Event, answer: Json) -> None:
        event, request = asked
        other = request.get("model")  # of a larger model
        name = f"remora/{other}" if other else model_name(self._survey)
        prompts = list(_prompts(event, request))
        message = {
            "id": f"{event.agent_id}.{end.seq}",
            "role": "assistant",
            "content": str(answer.get("text") or ""),
            "model": name,
            "source": "generate",
        }
        reason = _STOPS.get(str(answer.get("finish_reason")), "unknown")
        counted = answer.get("usage") or {}
        tokens = usage(counted.get("prompt_tokens") or 0, counted.get("completion_tokens") or 0)
        self.messages += [*prompts, message]
        self._add_event(
            event,
            "model",
            model=name,
            input=prompts,
            tools=[],
            tool_choice="none",
            config=_config(request.get("decoding") or {}),
            output={
                "model": name,
                "choices": [{"message": message, "stop_reason": reason}],
                "completion": message["content"],
                "usage": tokens,
                "metadata": {"call": answer.get("call")},
            },
            completed=end.timestamp,
        )
        self.events[-1]["metadata"] |= _pick(request, "renderer", "packet_sha256", "decoding")

    def _calling(self, event: Event, call: Mapping[str, Any]) -> Json:
        """Return the call as an assistant message.

        The metadata records whether the model or a rule decided on the call.
        """
        decided = {
            "id": f"{event.agent_id}.{event.seq}",
            "function": str(call.get("tool")),
            "arguments": call.get("args") or {},
        }
        return {
            "id": f"{event.agent_id}.{event.seq}",
            "role": "assistant",
            "content": "",
            "tool_calls": [decided],
            "metadata": _pick(call, "decided_by", "candidates", "choice"),
        }

    def _resulted(self, called: tuple[Event, Json], end: Event, result: Json) -> None:
        event, call = called
        place = f"{event.agent_id}.{event.seq}"
        text = json_text(result.get("raw_output"))
        failed = result.get("outcome") == "error"
        error = {"type": "unknown", "message": str(result.get("error"))} if failed else None
        function = str(call.get("tool"))
        if function == "submit_result":
            self.submitted = str((call.get("args") or {}).get("summary") or "")
        self.messages.append(
            {
                "id": f"{event.agent_id}.{end.seq}",
                "role": "tool",
                "content": text,
                "tool_call_id": place,
                "function": function,
                "error": error,
                "metadata": _pick(result, "outcome"),
            }
        )
        self._add_event(
            event,
            "tool",
            id=place,
            function=function,
            arguments=call.get("args") or {},
            result=text,
            error=error,
            failed=failed,
            completed=end.timestamp,
            working_time=(result.get("duration_ms") or 0) / 1000,
        )
        self.events[-1]["metadata"] |= _pick(call, "decided_by")
        self.events[-1]["metadata"] |= _pick(result, "outcome")


def _scores(survey: AgentSummary, attempt: Attempt) -> Iterator[tuple[str, Json]]:
    """Yield the scores `verified` (from the checks) and `review` (from a person's verdict),
    if any.
    """
    if survey.verified is not None:
        why = ", ".join(survey.failed_checks)
        yield "verified", {"value": _letter(right=survey.verified), "explanation": why or None}
    if attempt.verdict == "accepted" or attempt.verdict in _REFUSED:
        right = attempt.verdict == "accepted"
        explanation = attempt.feedback or attempt.verdict
        yield "review", {"value": _letter(right=right), "explanation": explanation}


def _letter(*, right: bool) -> str:
    return "C" if right else "I"


def _failure(survey: AgentSummary) -> Json:
    message = survey.error or survey.stop_reason or "the job failed"
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def _prompts(event: Event, request: Mapping[str, Any]) -> Iterator[Json]:
    messages = request.get("messages")
    if messages is None:
        messages = [{"role": "user", "content": request.get("prompt")}]
    for number, message in enumerate(messages):
        yield {
            "id": f"{event.agent_id}.{event.seq}.{number}",
            "role": message.get("role"),
            "content": message.get("content") or "",
            "source": "input",
        }


def _config(decoding: Mapping[str, Any]) -> Json:
    found = _pick(decoding, "max_tokens", "temperature", "seed")
    return {**found, "stop_seqs": decoding.get("stop") or None}


def _pick(data: Mapping[str, Any], *names: str) -> Json:
    return {name: data.get(name) for name in names}


def _seconds_between(began: str, ended: str) -> float:
    try:
        first, last = msgspec.convert([began, ended], list[datetime])
    except msgspec.ValidationError:
        return 0.0
    return max(0.0, (last - first).total_seconds())
