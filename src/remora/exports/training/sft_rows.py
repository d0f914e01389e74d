"""Rows of the training exports `sft` and `functiongemma`: a request, the answer and its result."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.decision.candidates import matches_candidate
from remora.chat import ToolCall, ToolSchema
from remora.exports.escaped_events import escaped_events
from remora.exports.run_group import ExportCounts, verdict_of
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
OTHER_KIND = "with a plain prompt, which cannot be mixed with conversations"


def sft_rows(
    folder: TraceFolder, survey: AgentSummary, review: Review | None, tally: ExportCounts
) -> Iterator[Row]:
    """Yield a row for each answered request of an agent, in order.

    All rows have the same keys. They contain either conversations or plain prompts, as selected by
    `tally.plain`.
    """
    for decision in answered_decisions(folder, survey, tally):
        if (decision.request.prompt is not None) != tally.plain:
            tally.leave_out(OTHER_KIND)
            continue
        yield {**conversation(decision), **provenance(decision, survey, review), "rendered": False}


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


def conversation(decision: ModelDecision) -> Row:
    """Return `prompt` and `completion` in the form that trainers expect.

    Both are lists of messages, or strings for a plain prompt.
    """
    message = answer_message(decision)
    if decision.request.messages is None:
        return {"prompt": decision.request.prompt or "", "completion": message["content"]}
    return {"prompt": decision.request.messages, "completion": [message]}


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
        "tools": _declared(decision),
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


def _declared(decision: ModelDecision) -> str | None:
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


def functiongemma_rows(
    folder: TraceFolder, survey: AgentSummary, review: Review | None, tally: ExportCounts
) -> Iterator[Row]:
    """Yield one row, with the strings `prompt` and `completion`, for each answered request.

    For a FunctionGemma request, these are the exact strings that were sent and received. For other
    renderers, `prompt` is rendered again from the packet, `completion` is the call of the answer,
    `rendered` is True, and answers that are not a call are left out. `<bos>` is not included,
    because tokenizers and servers add it.
    """
    for decision in answered_decisions(folder, survey, tally):
        recorded = _recorded_texts(decision)
        texts = recorded or _rendered_texts(decision, survey)
        if texts is None:
            tally.leave_out("without a call that the prompt asks for")
            continue
        facts = {**provenance(decision, survey, review), "rendered": recorded is None}
        yield {"prompt": texts[0], "completion": texts[1], **facts}


def written_call(tool: str, args: dict[str, Any]) -> str:
    """Return a call in FunctionGemma's format. Control tokens in its strings are neutralized."""
    start, end, _ = FUNCTIONGEMMA_CALLS.marks
    return f"{start}call:{tool}{written_value(args)}{end}"


def _recorded_texts(decision: ModelDecision) -> tuple[str, str] | None:
    prompt, answer = decision.request.prompt, decision.answer
    is_plain = decision.request.renderer.startswith("functiongemma/")
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
    made = render(FUNCTIONGEMMA, shown, survey.tools, "completion", instructions=text)
    asked = answerable_calls(FUNCTIONGEMMA, shown, survey.tools)
    known = next((tool.parameters for tool in asked if tool.name == taken.tool), {})
    args = {k: v for k, v in taken.args.items() if k in known.get("properties", {})}
    return made.prompt or "", written_call(taken.tool, args)
