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

_PLAIN = "functiongemma/"


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
        texts = _recorded_texts(one) or _rendered_texts(one, survey)
        if texts is None:
            tally.leave_out("without a tool call")
            continue
        prompt, completion = texts
        recorded = _recorded_texts(one) is not None
        facts = {**provenance(one, survey, attempt), "rendered": not recorded}
        yield {"prompt": prompt, "completion": completion, **facts}


def written_call(tool: str, args: dict[str, Any]) -> str:
    """Return a call in FunctionGemma's format. Control tokens in its strings are neutralized."""
    return f"<start_function_call>call:{tool}{written_value(args)}<end_function_call>"


def _recorded_texts(one: ModelDecision) -> tuple[str, str] | None:
    if not one.request.renderer.startswith(_PLAIN):
        return None
    if one.request.prompt is None or one.answer is None:
        return None
    return one.request.prompt, one.answer.text


def _rendered_texts(one: ModelDecision, survey: AgentSummary) -> tuple[str, str] | None:
    if one.taken is None:
        return None
    made = render(FUNCTIONGEMMA, one.shown(), survey.tools, "completion")
    return made.prompt or "", written_call(one.taken.tool, one.taken.args)
