"""Training rows for FunctionGemma, with plain prompts and calls in the model's format."""

from collections.abc import Iterator
from typing import Any

from remora.exports.export_counts import ExportCounts
from remora.exports.run_bundles import Attempt
from remora.exports.stream_summary import AgentSummary
from remora.exports.training.decisions import ModelDecision
from remora.exports.training.sft_rows import Row, answered_decisions, provenance
from remora.memory.prompt.functiongemma_prompt import written_value
from remora.memory.prompt.render import FUNCTIONGEMMA, render
from remora.trace.trace_folder import TraceFolder


def functiongemma_rows(
    folder: TraceFolder, survey: AgentSummary, attempt: Attempt, tally: ExportCounts
) -> Iterator[Row]:
    """Yield one row, with the strings `prompt` and `completion`, for each answered request.

    For a FunctionGemma request, these are the exact strings that were sent and received. For other
    renderers, `prompt` is rendered again from the packet, `completion` is the call of the answer,
    `rendered` is True, and answers that are not a call are left out. `<bos>` is not included,
    because tokenizers and servers add it.
    """
    for one in answered_decisions(folder, survey, tally):
        recorded = _recorded_texts(one)
        texts = recorded or _rendered_texts(one, survey)
        if texts is None:
            tally.leave_out("without a tool call")
            continue
        facts = {**provenance(one, survey, attempt), "rendered": recorded is None}
        yield {"prompt": texts[0], "completion": texts[1], **facts}


def written_call(tool: str, args: dict[str, Any]) -> str:
    """Return a call in FunctionGemma's format. Control tokens in its strings are neutralized."""
    return f"<start_function_call>call:{tool}{written_value(args)}<end_function_call>"


def _recorded_texts(one: ModelDecision) -> tuple[str, str] | None:
    prompt, is_plain = one.request.prompt, one.request.renderer.startswith("functiongemma/")
    return (prompt, one.answer.text) if is_plain and prompt is not None and one.answer else None


def _rendered_texts(one: ModelDecision, survey: AgentSummary) -> tuple[str, str] | None:
    if one.taken is None:
        return None
    made = render(FUNCTIONGEMMA, one.shown(), survey.tools, "completion")
    return made.prompt or "", written_call(one.taken.tool, one.taken.args)
