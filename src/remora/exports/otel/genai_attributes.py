"""Span attributes according to the OpenTelemetry conventions for generative AI.

The attributes follow the 2026 state of `open-telemetry/semantic-conventions-genai`, where
everything has the status "development". Attributes that are not in the conventions start with
`remora.`. Null values are omitted.
"""

from collections.abc import Mapping
from typing import Any

from remora.exports.run_group import verdict_of
from remora.exports.stream_summary import AgentSummary
from remora.memory.canonical import json_text
from remora.memory.events import Review
from remora.models.token_counters import tool_declaration

Attributes = dict[str, Any]
PROVIDER = "remora"
"""`gen_ai.provider.name` of the embedded model, and of models whose provider is unknown."""


def provider(survey: AgentSummary) -> str:
    """Return `openai` if the server uses the OpenAI protocol, otherwise `remora`."""
    return "openai" if survey.start.model.get("provider") == "openai" else PROVIDER


def agent_attributes(survey: AgentSummary, review: Review | None, *, content: bool) -> Attributes:
    """Return the attributes of an agent's span, such as its name, model and status."""
    packet = survey.start.packet
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider(survey),
        "gen_ai.agent.id": survey.agent_id,
        "gen_ai.agent.name": survey.name,
        "gen_ai.agent.description": survey.start.definition.get("description") or None,
        "gen_ai.conversation.id": survey.agent_id,
        "gen_ai.request.model": survey.model,
        "gen_ai.usage.input_tokens": survey.input_tokens,
        "gen_ai.usage.output_tokens": survey.output_tokens,
        "remora.run_id": survey.run_id,
        "remora.operation": survey.operation,
        "remora.node_id": survey.node_id,
        "remora.attempt": survey.start.attempt,
        "remora.status": survey.status,
        "remora.stop_reason": survey.stop_reason or None,
        "remora.verified": survey.verified,
        "remora.verdict": verdict_of(review),
        "remora.turns": survey.turns,
        "remora.head.count": survey.head.count,
        "remora.head.hash": survey.head.hash,
    }
    if content:
        attributes["remora.goal"] = packet.goal
        attributes["gen_ai.tool.definitions"] = json_text(
            [tool_declaration(tool)["function"] for tool in survey.start.tools]
        )
    return attributes


def decoding_attributes(decoding: Any) -> Attributes:
    settings = decoding if isinstance(decoding, dict) else {}
    return {
        "gen_ai.request.max_tokens": settings.get("max_tokens"),
        "gen_ai.request.temperature": settings.get("temperature"),
        "gen_ai.request.seed": settings.get("seed"),
        "gen_ai.request.stop_sequences": settings.get("stop") or None,
        "remora.strategy": settings.get("strategy"),
    }


def usage_attributes(answer: Mapping[str, Any]) -> Attributes:
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    reason = answer.get("finish_reason")
    prompt, evaluated = usage.get("prompt_tokens"), usage.get("evaluated")
    cached = None
    if isinstance(prompt, int) and isinstance(evaluated, int):
        cached = max(0, prompt - evaluated)
    return {
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
        "gen_ai.usage.cache_read.input_tokens": cached,
        "gen_ai.response.finish_reasons": [reason] if reason else None,
    }


def message_attributes(request: Mapping[str, Any], answer: Mapping[str, Any] | None) -> Attributes:
    """Return the prompts and answers as JSON strings in the format of the conventions."""
    messages = request.get("messages")
    if messages is None:
        messages = [{"role": "user", "content": request.get("prompt")}]
    attributes = {"gen_ai.input.messages": json_text([_message(message) for message in messages])}
    if answer is not None:
        message = _message({"role": "assistant", "content": answer.get("text")})
        call = answer.get("call")
        if isinstance(call, dict):
            part = {"type": "tool_call", "name": call.get("tool"), "arguments": call.get("args")}
            message["parts"].append(part)
        reason = answer.get("finish_reason") or "stop"
        attributes["gen_ai.output.messages"] = json_text([{**message, "finish_reason": reason}])
    return attributes


def _message(message: Mapping[str, Any]) -> Attributes:
    text = message.get("content") or ""
    if message.get("role") == "tool":
        part = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": text}
        return {"role": "tool", "parts": [part]}
    parts = [{"type": "text", "content": text}] if text or "tool_calls" not in message else []
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    parts += [{"type": "tool_call", "id": call.get("id"), **call["function"]} for call in calls]
    return {"role": message.get("role"), "parts": parts}


def tool_call_attributes(call: Mapping[str, Any], result: Mapping[str, Any] | None) -> Attributes:
    attributes = {"gen_ai.tool.call.arguments": json_text(call.get("args"))}
    if result is not None:
        attributes["gen_ai.tool.call.result"] = json_text(result.get("raw_output"))
    return attributes


def tool_error(result: Mapping[str, Any] | None, *, content: bool) -> tuple[str, str] | None:
    if result is None:
        return "interrupted", "no result was recorded"
    if result.get("outcome") != "error":
        return None
    return str(result.get("error_kind") or "tool_error"), str(result.get("error") or "") * content
