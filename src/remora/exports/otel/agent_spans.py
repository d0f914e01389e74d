"""Conversion of an agent's stream to spans, as in the OpenTelemetry conventions for GenAI.

    invoke_workflow remora          the run, if the run itself was requested
    └── invoke_agent NAME           an agent
        ├── chat MODEL              a request and its answer (text_completion for a plain prompt)
        └── execute_tool TOOL       a call and its result

A run is one trace. Every ID is derived from names and numbers in the streams, so repeated exports
produce the same spans.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from remora.exports.escaped_events import escaped_events
from remora.exports.otel.genai_attributes import (
    agent_attributes,
    decoding_attributes,
    message_attributes,
    provider,
    tool_call_attributes,
    tool_error,
    usage_attributes,
)
from remora.exports.otel.span import (
    CLIENT,
    Span,
    nanoseconds,
    otlp_attributes,
    request_documents,
    span_id,
)
from remora.exports.run_group import ExportCounts, Groups, RunGroup, map_agents
from remora.exports.stream_summary import AgentSummary
from remora.memory.events import Event, Review
from remora.statuses import FAILURES
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import Step, agent_turns
from remora.trace.read.blobs import resolved_data
from remora.trace.read.reader import event_data, read_events
from remora.trace.trace_folder import TraceFolder


def export_spans(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, content: bool
) -> Iterator[bytes]:
    """Yield the spans of each run as lines of OTLP JSON."""
    for group in groups():
        spans = _group_spans(folder, group, tally, content=content)
        for document in request_documents(spans):
            yield msgspec.json.encode(document) + b"\n"


def _group_spans(
    folder: TraceFolder, group: RunGroup, tally: ExportCounts, *, content: bool
) -> Iterator[Span]:
    """Yield the spans of each agent, then the run's span if the run was requested."""
    has_run = group.whole and group.path is not None
    spans_of = partial(
        agent_spans,
        folder,
        content=content,
        parent=run_span_id(group.run_id) if has_run else "",
    )
    ended = group.began
    for span in map_agents(folder, group, tally, spans_of):
        tally.records += 1
        ended = max(ended, span.ended)
        yield span
    if has_run:
        tally.records += 1
        yield run_span(group, ended)


def agent_spans(
    folder: TraceFolder, survey: AgentSummary, review: Review | None, *, content: bool, parent: str
) -> Iterator[Span]:
    """Yield the spans of an agent's requests and calls in order, and finally the agent's span.

    If `content` is True, the spans include prompts, answers, arguments and outputs, which the
    conventions make opt-in. `parent` is the ID of the run's span.
    """
    builder = _SpanBuilder(folder.blobs, survey, content=content)
    errors: list[dict[str, Any]] = []
    events = read_events(folder.existing_agent(survey.agent_id))
    for turn in agent_turns(escaped_events(events, folder.blobs)):
        yield from map(builder.chat, turn.requests)
        yield from map(builder.tool, turn.calls)
        errors += map(builder.error, turn.errors)
    failed = survey.status in FAILURES
    message = (survey.error or "") if content else ""
    yield Span(
        run_id=survey.run_id,
        span_id=builder.agent,
        name=f"invoke_agent {survey.name}",
        began=survey.began,
        ended=survey.ended,
        parent=parent,
        error=(survey.stop_reason or survey.status, message) if failed else None,
        events=tuple(errors),
        attributes=agent_attributes(survey, review, content=content),
    )


def run_span(group: RunGroup, ended: str) -> Span:
    """Return the span of a run, from its first event to `ended`."""
    return Span(
        run_id=group.run_id,
        span_id=run_span_id(group.run_id),
        name="invoke_workflow remora",
        began=group.began,
        ended=ended,
        attributes={
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": "remora",
            "remora.run_id": group.run_id,
            "remora.agents": group.begun,
            "remora.head.count": group.head.count if group.head else None,
            "remora.head.hash": group.head.hash if group.head else None,
        },
    )


def run_span_id(run_id: str) -> str:
    return span_id(run_id, "", "run")


class _SpanBuilder:
    """Builds the spans of steps. A step without a reply has a duration of zero."""

    def __init__(self, blobs: ObjectStore, survey: AgentSummary, *, content: bool) -> None:
        self._blobs = blobs
        self._survey = survey
        self._content = content
        self._descriptions = {tool.name: tool.description for tool in survey.start.tools}
        self.agent = span_id(survey.run_id, survey.agent_id, "agent")

    def error(self, event: Event) -> dict[str, Any]:
        """Return the event of a span for an error of the agent."""
        data = event_data(event)
        attributes = {"remora.turn": event.turn, "error.type": str(data.get("kind"))}
        if self._content:
            attributes["remora.message"] = str(data.get("message"))
        return {
            "timeUnixNano": nanoseconds(event.timestamp),
            "name": "remora.agent_error",
            "attributes": otlp_attributes(attributes),
        }

    def chat(self, step: Step) -> Span:
        """Return the span of a request and its answer."""
        asked, answered = step.event, step.reply
        request = resolved_data(asked, self._blobs)
        answer = resolved_data(answered, self._blobs) if answered is not None else None
        operation = "chat" if request.get("messages") is not None else "text_completion"
        model = str(request.get("model") or self._survey.model)
        attributes = {
            "gen_ai.operation.name": operation,
            **self._common(asked),
            "gen_ai.request.model": model,
            **decoding_attributes(request.get("decoding")),
            **usage_attributes(answer or {}),
            "remora.renderer": request.get("renderer"),
            "remora.packet_sha256": request.get("packet_sha256"),
            "remora.prompt_tokens": request.get("prompt_tokens"),
            **(message_attributes(request, answer) if self._content else {}),
        }
        name = f"{operation} {model}"
        error = None if answer is not None else ("unanswered", "no answer was recorded")
        return self._span(name, step, attributes, error=error, kind=CLIENT)

    def tool(self, step: Step) -> Span:
        """Return the span of a call and its result."""
        called, ended = step.event, step.reply
        call = event_data(called)
        # an output of any size stays in its blob: the span holds the reference
        result = event_data(ended) if ended is not None else None
        tool = str(call.get("tool"))
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"{self._survey.agent_id}.{called.seq}",
            "gen_ai.tool.description": self._descriptions.get(tool) or None,
            **self._common(called),
            "remora.decided_by": call.get("decided_by"),
            "remora.outcome": "interrupted" if result is None else result.get("outcome"),
            **(tool_call_attributes(call, result) if self._content else {}),
        }
        error = tool_error(result, content=self._content)
        return self._span(f"execute_tool {tool}", step, attributes, error=error)

    def _span(self, name: str, step: Step, attributes: Mapping[str, Any], **more: Any) -> Span:
        return Span(
            run_id=self._survey.run_id,
            span_id=span_id(self._survey.run_id, self._survey.agent_id, step.event.seq),
            name=name,
            began=step.event.timestamp,
            ended=(step.reply or step.event).timestamp,
            parent=self.agent,
            attributes=dict(attributes),
            **more,
        )

    def _common(self, event: Event) -> dict[str, Any]:
        return {
            "gen_ai.provider.name": provider(self._survey),
            "gen_ai.request.model": self._survey.model,
            "gen_ai.conversation.id": self._survey.agent_id,
            "gen_ai.agent.id": self._survey.agent_id,
            "gen_ai.agent.name": self._survey.name,
            "remora.turn": event.turn,
            "remora.seq": event.seq,
            "remora.line_hash": event.hash,
        }
