"""Rows of the training exports `sft` and `functiongemma`: a request, the answer and its result."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from remora.agents.decision.candidates import matches_candidate
from remora.chat import ToolCall, ToolSchema
from remora.exports.escaped_events import escaped_events
from remora.exports.run_group import ExportCounts, Groups, map_agents, verdict_of
from remora.exports.stream_summary import AgentSummary
from remora.exports.training.decisions import ModelDecision, model_decisions
from remora.memory.canonical import json_text
from remora.memory.events import Review
from remora.memory.prompt.functiongemma_prompt import written_value
from remora.memory.prompt.render import FUNCTIONGEMMA, answerable_calls, render
from remora.models.decoding.call_formats import FUNCTIONGEMMA_CALLS
from remora.models.token_counters import tool_declaration
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder

Row = dict[str, Any]
PLAIN = "functiongemma/"
"""Begins the names of the renderers of plain prompts."""


class _Texts(NamedTuple):
    """The request and the answer of a row, as messages or strings."""

    prompt: list[dict[str, Any]] | str
    completion: list[dict[str, Any]] | str
    is_rendered: bool
    """True if this is not what was sent and received."""


_FindTexts = Callable[[ModelDecision, AgentSummary], _Texts | str]
"""Returns the texts of a decision, or why there is no row for it."""


def export_sft(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, _: bool
) -> Iterator[bytes]:
    """Yield a row for each answered request, in order, as lines of JSON.

    All rows have the same keys, and contain conversations.
    """
    return _export(folder, groups, tally, _recorded_conversation)


def export_functiongemma(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, _: bool
) -> Iterator[bytes]:
    """Yield a row, with the strings `prompt` and `completion`, for each answered request.

    For a FunctionGemma request, these are the exact strings that were sent and received. For other
    renderers, `prompt` is rendered again from the packet, `completion` is the call of the answer,
    `rendered` is True, and answers that are not a call are left out. `<bos>` is not included,
    because tokenizers and servers add it.
    """
    return _export(folder, groups, tally, _functiongemma_texts)


def _export(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, find_texts: _FindTexts
) -> Iterator[bytes]:
    def rows_of(survey: AgentSummary, review: Review | None) -> Iterator[Row]:
        for decision in answered_decisions(folder, survey, tally):
            texts = find_texts(decision, survey)
            if isinstance(texts, str):
                tally.leave_out(texts)
                continue
            counts = tally.operations
            counts[survey.operation] = counts.get(survey.operation, 0) + 1
            yield {
                "prompt": texts.prompt,
                "completion": texts.completion,
                **provenance(decision, survey, review),
                "rendered": texts.is_rendered,
            }

    for group in groups():
        for row in map_agents(folder, group, tally, rows_of):
            tally.records += 1
            yield msgspec.json.encode(row) + b"\n"


def answered_decisions(
    folder: TraceFolder, survey: AgentSummary, tally: ExportCounts
) -> Iterator[ModelDecision]:
    """Yield the decisions whose request was answered, and count all others as left out."""
    events = read_events(folder.existing_agent(survey.agent_id))
    for decision in model_decisions(escaped_events(events, folder.blobs), folder.blobs):
        if decision.answer is None:
            tally.leave_out("without an answer")
        else:
            yield decision


def _recorded_conversation(decision: ModelDecision, _: AgentSummary) -> _Texts | str:
    """Return the request and the answer in the form that trainers expect."""
    if decision.request.messages is None:
        return "with a plain prompt, which --format functiongemma exports"
    return _Texts(decision.request.messages, [answer_message(decision)], is_rendered=False)


def answer_message(decision: ModelDecision) -> Row:
    """Return the answer as an assistant message, with a native call in `tool_calls`."""
    answer = decision.answer
    message: Row = {"role": "assistant", "content": answer.text if answer else ""}
    if answer is not None and decision.form.declares_tools:
        message["tool_calls"] = [] if answer.call is None else [_tool_call(answer.call)]
    return message


def provenance(decision: ModelDecision, survey: AgentSummary, review: Review | None) -> Row:
    """Return the columns that describe the origin and the result of a row.

    Each column has a single type, and values of varying type are encoded as JSON. Names that have a
    special meaning to trainers, such as `label`, are avoided. So is `messages`, which TRL rejects
    next to `prompt`.
    """
    call, result, taken = decision.call, decision.result, decision.taken
    return {
        "tools": _declared_tools(decision),
        "tool": taken.tool if taken else None,
        "args": json_text(taken.args) if taken else None,
        "decided_by": call.decided_by if call else None,
        "outcome": result.outcome if result else None,
        "error": _error(decision),
        "verified": survey.verified,
        "status": survey.status,
        "stop_reason": survey.stop_reason or None,
        "verdict": verdict_of(review),
        "feedback": review.feedback if review is not None else None,
        "model": decision.request.model or survey.model,
        "renderer": decision.request.renderer,
        "strategy": decision.strategy,
        "prompt_tokens": decision.request.prompt_tokens,
        "run_id": survey.run_id,
        "agent_id": survey.agent_id,
        "operation": survey.operation,
        "node_id": survey.node_id,
        "attempt": survey.start.attempt,
        "turn": decision.event.turn,
        "seq": decision.event.seq,
        "line_hash": decision.event.hash,
        "packet_sha256": decision.request.packet_sha256,
    }


def _declared_tools(decision: ModelDecision) -> str | None:
    if not decision.form.declares_tools:
        return None
    tools = msgspec.convert(decision.request.decoding.get("tools") or [], list[ToolSchema])
    return json_text([tool_declaration(tool) for tool in tools])


def _tool_call(call: ToolCall) -> Row:
    return {"type": "function", "function": {"name": call.tool, "arguments": json_text(call.args)}}


def _error(decision: ModelDecision) -> str | None:
    """Return why this answer is not a call, or failed."""
    if decision.problem:
        return f"bad_call: {decision.problem}"
    if decision.error is not None:
        return f"{decision.error.kind}: {decision.error.message}"
    if decision.result is not None and decision.result.error is not None:
        error = decision.result.error
        return error if isinstance(error, str) else json_text(error)
    return None


def _functiongemma_texts(decision: ModelDecision, survey: AgentSummary) -> _Texts | str:
    recorded = _recorded_texts(decision)
    texts = recorded or _rendered_texts(decision, survey)
    if texts is None:
        return "without a call that the prompt asks for"
    return _Texts(*texts, is_rendered=recorded is None)


def written_call(tool: str, args: dict[str, Any]) -> str:
    """Return a call in FunctionGemma's format. Control tokens in its strings are neutralized."""
    start, end, _ = FUNCTIONGEMMA_CALLS.marks
    return f"{start}call:{tool}{written_value(args)}{end}"


def _recorded_texts(decision: ModelDecision) -> tuple[str, str] | None:
    prompt, answer = decision.request.prompt, decision.answer
    is_plain = decision.request.renderer.startswith(PLAIN)
    return (prompt, answer.text) if is_plain and prompt is not None and answer else None


def _rendered_texts(decision: ModelDecision, survey: AgentSummary) -> tuple[str, str] | None:
    """Return the texts for the suggestion that the call follows, which the prompt asks about."""
    taken, shown = decision.taken, decision.shown()
    offered = shown.candidate_actions
    followed = [offer for offer in offered if taken and matches_candidate(taken, offer)][:1]
    if taken is None or (offered and not followed):
        return None
    shown = replace(shown, candidate_actions=(*followed, *offered))
    text = str(survey.start.definition.get("instructions", ""))
    made = render(FUNCTIONGEMMA, shown, survey.start.tools, "completion", instructions=text)
    asked = answerable_calls(FUNCTIONGEMMA, shown, survey.start.tools)
    known = next((tool.parameters for tool in asked if tool.name == taken.tool), {})
    args = {
        name: value for name, value in taken.args.items() if name in known.get("properties", {})
    }
    return made.prompt or "", written_call(taken.tool, args)
