"""A tool's result as anyone may have written it: what of it a delta can use, read without raising."""

from collections.abc import Mapping
from typing import Any, cast, get_args

from remora.memory import delta as make
from remora.memory.canonical import canonical, to_packet_value
from remora.memory.packet import Candidate, Outcome

_LAST_LINE = 2**52  # with the lines after it still a number that a packet may hold


def to_dict(value: Any) -> dict[str, Any]:
    """A copy of a mapping; nothing for any other value."""
    return dict(value) if isinstance(value, Mapping) else {}


def to_list(value: Any) -> list[Any]:
    """The items of a list or tuple; any other value alone, null none."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def to_text(value: Any) -> str:
    """A text as it is, any other value as canonical JSON, null empty."""
    if value is None:
        return ""
    value = to_packet_value(value)
    return value if isinstance(value, str) else canonical(value).decode()


def arguments(tool_result: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name; what is no mapping stands under `args`."""
    args = tool_result.get("args")
    return {"args": args} if args and not isinstance(args, Mapping) else to_dict(args)


def stated_summary(tool_result: Mapping[str, Any]) -> str:
    """What the tool says of itself: `summary`, or the `_summary` of a returned mapping."""
    for said in (
        tool_result.get("summary"),
        to_dict(tool_result.get("raw_output")).get("_summary"),
    ):
        if isinstance(said, str) and said:
            return said
    return ""


def stated_error(tool_result: Mapping[str, Any]) -> str:
    """The result's own `error`; empty where there is none."""
    return to_text(tool_result.get("error") or None)


def error_of(tool_result: Mapping[str, Any]) -> str:
    """The result's `error`, else that of the returned mapping."""
    inner = to_dict(tool_result.get("raw_output")).get("error")
    return stated_error(tool_result) or to_text(inner or None)


def outcome_of(tool_result: Mapping[str, Any]) -> Outcome:
    """The stated outcome; where there is none (or no known one) it follows from the error."""
    stated = tool_result.get("outcome")
    for outcome in get_args(Outcome):
        if stated == outcome:
            return cast(Outcome, outcome)
    return "error" if error_of(tool_result) else "success"


def candidates(value: Any) -> tuple[Candidate, ...]:
    """Candidate actions from `{tool, args, reason}`; entries without a tool are left out."""
    return tuple(
        make.candidate(entry["tool"], to_dict(entry.get("args")), to_text(entry.get("reason")))
        for entry in to_list(value)
        if isinstance(entry, Mapping) and isinstance(entry.get("tool"), str)
    )


def first_line(found: Mapping[str, Any]) -> int:
    """The first of an excerpt's `lines`, from 1."""
    first = next(iter(to_list(found.get("lines"))), 1)
    return first if isinstance(first, int) and 0 < first <= _LAST_LINE else 1
