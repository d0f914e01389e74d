"""The contract for tool results.

All accepted forms of a script's value are converted to the same record.
"""

from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from remora.text import clip
from remora.tool_contract import is_contract, unknown_keys

SUMMARY_LIMIT = 200
Outcome = Literal["success", "error", "partial"]


class Excerpt(TypedDict):
    """An unmodified excerpt of a file.

    `lines` contains the numbers of the first and last line, starting at 1. `focus` is the line that
    stays longest if the excerpt is cut.
    """

    ref: str
    path: str
    lines: tuple[int, int]
    text: str
    focus: NotRequired[int]


class CandidateAction(TypedDict):
    """A valid next action, and the reason why it may be the right one."""

    tool: str
    args: dict[str, Any]
    reason: str


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool.

    If `summary` is None, the caller creates a summary. Values and keys are kept as the script
    returned them, so they may not be representable in JSON. `error` is a single line. It is set if
    the outcome is `error` and the tool gave a reason.
    """

    result: Any = None
    summary: str | None = None
    knowledge_delta: dict[Any, Any] = {}
    outcome: Outcome = "success"
    diagnostics: list[Any] | None = None
    candidate_actions: list[CandidateAction] | None = None
    state_summary: str | None = None
    excerpt: Excerpt | None = None
    extensions: dict[Any, Any] | None = None
    error: str | None = None


def as_result(value: Any) -> ToolResult:
    """Convert the value of a script (`ScriptRun.value`) to a tool result.

    Every value is accepted. A dict may contain its summary in `_summary`. If a dict violates the
    contract, the outcome is `error`.
    """
    problem = contract_problem(value)
    if problem is not None:
        return ToolResult(outcome="error", error=problem)
    if is_contract(value):
        made = _converted(value)
        return msgspec.structs.replace(made, summary=_clip_summary(made.summary))
    outcome = _default_outcome(value)
    given_error = value.get("error") if outcome == "error" else None
    error = None if given_error is None else _clip_summary(_error_text(given_error))
    if isinstance(value, dict) and isinstance(value.get("_summary"), str):
        rest = {key: item for key, item in value.items() if key != "_summary"}
        summary = _clip_summary(value["_summary"])
        return ToolResult(result=rest, summary=summary, outcome=outcome, error=error)
    return ToolResult(result=value, outcome=outcome, error=error)


def contract_problem(value: Any) -> str | None:
    """Describe in one line how a value violates the contract. Return None if it does not."""
    for key, meant in unknown_keys(value):
        if meant or is_contract(value):
            shown = clip(" ".join(_error_text(key).split()), 40)
            listed = ", ".join(ToolResult.__struct_fields__)
            return (
                f"the tool's result breaks the contract: no key '{shown}'{meant}; there is {listed}"
            )
    try:
        if is_contract(value):
            _converted(value)
    except msgspec.ValidationError as error:
        return f"the tool's result breaks the contract: {error}"
    return None


def _converted(value: dict[str, Any]) -> ToolResult:
    # null counts as absent
    given = {k: v for k, v in value.items() if v is not None}
    return msgspec.convert({"outcome": _default_outcome(value), **given}, ToolResult)


def _default_outcome(value: Any) -> Outcome:
    return "error" if isinstance(value, dict) and value.get("error") else "success"


def _error_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # thousands of digits or levels
        return f"an error of type {type(value).__name__}, too large to show"


def _clip_summary(text: str | None) -> str | None:
    return None if text is None else clip(text, SUMMARY_LIMIT)
