"""Helpers that read tool results of any shape to create a delta. They never raise."""

from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from remora.memory import delta as make
from remora.memory.canonical import canonical, parts_of, to_packet_value
from remora.memory.packet import Candidate, NewAction, Outcome
from remora.tool_contract import STATED, is_contract, unknown_keys

RESULT_KEYS = ("args", "raw_output", *STATED)
_FAILED = ("error", "failed", "failure")
_LAST_LINE = 2**52  # the last line must also be an integer that a packet may contain


def to_dict(value: Any) -> dict[str, Any]:
    """Return a copy of a mapping or record, or an empty dict for any other value."""
    return dict(parts) if isinstance(parts := parts_of(value), Mapping) else {}


def to_list(value: Any) -> list[Any]:
    """Return the items of a list or tuple.

    Return an empty list for None, and a list with a single item for any other value.
    """
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def to_text(value: Any) -> str:
    """Convert a value to a string.

    Strings are kept, None becomes an empty string, and other values become canonical JSON.
    """
    if value is None:
        return ""
    value = to_packet_value(value)
    return value if isinstance(value, str) else canonical(value).decode()


def arguments_of(tool_result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the tool call, keyed by name.

    If `args` is not a mapping, its value becomes a single argument called `args`.
    """
    args = tool_result.get("args")
    return to_dict(args) if not args or isinstance(parts_of(args), Mapping) else {"args": args}


def stated_summary(tool_result: Mapping[str, Any]) -> str:
    """Return the summary that the tool provided, or an empty string.

    This is the result's `summary`, or the `_summary` in `raw_output`.
    """
    for summary in (
        tool_result.get("summary"),
        to_dict(tool_result.get("raw_output")).get("_summary"),
    ):
        if isinstance(summary, str) and summary:
            return summary
    return ""


def stated_error(tool_result: Mapping[str, Any]) -> str:
    """Return the result's `error`, or an empty string."""
    return to_text(tool_result.get("error") or None)


def error_of(tool_result: Mapping[str, Any]) -> str:
    """Return the result's `error`, or the `error` in `raw_output` if the result has none."""
    inner = to_dict(tool_result.get("raw_output")).get("error")
    return stated_error(tool_result) or to_text(inner or None)


def outcome_of(tool_result: Mapping[str, Any]) -> Outcome:
    """Return the result's outcome if it is valid, or `error` if its output or error says so."""
    stated = to_text(tool_result.get("outcome")).lower()
    inner = to_text(to_dict(tool_result.get("raw_output")).get("outcome")).lower()
    if (stated or inner) in _FAILED:
        return "error"
    for outcome in get_args(Outcome):
        if stated == outcome:
            return cast(Outcome, outcome)
    return "error" if error_of(tool_result) else "success"


def failure_text(tool_result: Mapping[str, Any]) -> str:
    """Return the text in a failed call's raw output that says why, or an empty string."""
    raw = to_dict(tool_result.get("raw_output"))
    texts = (raw.get(key) for key in ("message", "stderr", "result"))
    return next((text for text in map(parts_of, texts) if text and isinstance(text, str)), "")


def raw_output_of(tool_result: Mapping[str, Any]) -> Any:
    """Return the raw output of a tool, or the whole result if there is no raw output.

    This is the input of a summarizer.
    """
    return tool_result.get("raw_output", tool_result)


def with_stated(tool_result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool result with what its output says, if that is a dict of the contract.

    What the result says itself stays. A parsed output with summary and knowledge needs no `result`.
    """
    parsed, raw = to_dict(tool_result.get("parsed_output")), to_dict(tool_result.get("raw_output"))
    is_stated = is_contract(parsed) or {"summary", "knowledge_delta"} <= parsed.keys()
    said = {**(parsed if is_stated else {}), **(raw if is_contract(raw) else {})}
    return {key: said[key] for key in STATED if said.get(key) is not None} | dict(tool_result)


def problem_of(tool_result: Mapping[str, Any]) -> str:
    """Return what a tool result says wrongly, so that it is left out, or an empty string."""
    for key, meant in unknown_keys(tool_result.get("raw_output")):
        if meant:
            return f"the tool's result has no key '{make.one_line(key, 40)}'{meant}"
    for number, entry in enumerate(to_list(tool_result.get("candidate_actions")), 1):
        if not isinstance(to_dict(entry).get("tool"), str):
            return f"candidate action {number} has no tool"
    return ""


def candidates_of(value: Any) -> tuple[Candidate, ...]:
    """Build candidate actions from entries of the form `{tool, args, reason}`.

    Entries without a tool are left out: `problem_of` names them.
    """
    return tuple(
        make.candidate(
            entry["tool"],
            to_dict(entry.get("args")),
            to_text(entry.get("reason")),
            to_dict(entry.get("slots")),
        )
        for entry in map(to_dict, to_list(value))
        if isinstance(entry.get("tool"), str)
    )


def actions_of(value: Any) -> Iterator[NewAction]:
    """Yield actions from a list of texts, or of entries of the form `{tool, summary, …}`."""
    for given in to_list(value):
        entry = to_dict(given) or {"summary": given}
        yield make.new_action(
            to_text(entry.get("tool")),
            arguments_of(entry),
            to_text(entry.get("summary")),
            outcome_of(entry),
        )


def first_line_of(found: Mapping[str, Any]) -> int:
    """Return the 1-based number of an excerpt's first line, or 1 if it is missing or invalid."""
    return line_number(next(iter(to_list(found.get("lines"))), 1)) or 1


def line_number(value: Any) -> int:
    """Return the number of a line, or 0 if it is not one."""
    return value if isinstance(value, int) and 0 < value <= _LAST_LINE else 0
