"""Parsing of the first call in a model's text, in the format that its marks show."""

import re
from collections.abc import Iterator, Sequence

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.argument_types import typed_arguments
from remora.models.decoding.call_formats import BARE_JSON, FAMILIES, FORM, Family
from remora.models.decoding.call_reader import CallReader, Written
from remora.models.decoding.call_validation import BadCall, granted_call, short_repr

MAX_ANSWER_CHARS = 50_000
"""Measurement: an argument `[1,1,…]` takes longest to read, 0.4 s for 50,000 characters."""
_MAX_PARTS = 16
"""Decision: thoughts and values around the call, so that reading stays linear."""
_THOUGHTS = {"<think>": "</think>", "<|channel>": "<channel|>"}
"""Marks around thinking: of most models, and of Gemma 4."""
_ENDS = re.compile("|".join(map(re.escape, _THOUGHTS.values())))
_THINKING = re.compile("|".join(map(re.escape, (*_THOUGHTS, *_THOUGHTS.values()))))
_AROUND = "|".join(re.escape(mark) for family in FAMILIES for mark in family.marks[:2])
_MENTION = re.compile(rf"""["'`]?[^][<>{{}}()"'=:]*(?={_THINKING.pattern}|{_AROUND})""")
"""After a mark: only words up to the next one, so that no call begins here."""


def parse_call(text: str, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the first call in `text`. Words and thinking around it and further calls are ignored.

    Raises BadCall, with a one-line message, if there is no valid call or if there are two readings.
    """
    if len(text) > MAX_ANSWER_CHARS:
        raise BadCall(f"the answer has {len(text):,} characters (maximum {MAX_ANSWER_CHARS:,})")
    if not text.strip():
        raise BadCall("the answer is empty")
    name, args = _without_doubled_name(_first_call(text), tools)
    tool = next((tool for tool in tools if tool.name == name), ToolSchema(name=name))
    return granted_call(ToolCall(tool=name, args=typed_arguments(args, tool)), tools)


def family_of(text: str) -> str | None:
    """Return the name of the family whose mark `text` holds. A bare JSON object has no mark."""
    found = [(begin.start(), f.name) for f in FAMILIES if (begin := f.begin.search(text))]
    return min(found)[1] if found else None


def _first_call(text: str) -> Written:
    """Return the first call after thinking, of which the answer may hold only the end."""
    first: Written | None = None
    thought: Written | None = None
    for written, at in _parts(text):
        if written is None:
            first, thought = None, thought or first
        first = first or written
        if first is not None and _ENDS.search(text, at) is None:
            return first
    if (written := first or thought) is not None:
        return written
    if _THINKING.search(text) and _next_family(text, 0)[1] < len(text):
        raise BadCall("the only call is inside thinking; write it after the thinking")
    raise BadCall(f"the answer has no tool call: {short_repr(text)}; write {FORM}")


def _parts(text: str) -> Iterator[tuple[Written | None, int]]:
    """Yield each call, and None for an end of thinking without a beginning, with the place after.

    Nothing is read after a call that cannot be read, because its strings may hold other calls.
    """
    at = 0
    for _ in range(_MAX_PARTS):
        family, start = _next_family(text, at)
        if mark := _THINKING.search(text, at, start):
            at = mark.end()
            if (closing := _THOUGHTS.get(mark[0])) is None:
                yield None, at
            elif (end := text.find(closing, at)) >= 0:
                at = end + len(closing)
            else:
                raise BadCall("the answer ends inside thinking; write the call after it")
        elif start < len(text):
            reader = CallReader(text, start)
            written, at = family.read(reader), reader.at
            if written is not None:
                yield written, at
        else:
            return
    raise BadCall("the answer has too many parts around a call")


def _next_family(text: str, at: int) -> tuple[Family, int]:
    """Return the family of the next call and the place of its mark, or the end of the text.

    Marks in the strings of a bare JSON value that comes first are text.
    """
    found = [
        (family, begin.start())
        for family in (*FAMILIES, BARE_JSON)
        for begin in family.begin.finditer(text, at)
        if family is BARE_JSON or _MENTION.match(text, begin.end()) is None
    ]
    return min(found, key=lambda place: place[1], default=(BARE_JSON, len(text)))


def _without_doubled_name(written: Written, tools: Sequence[ToolSchema]) -> Written:
    """Take off a repeated name: `f:f{…}`, `f{f:{…}}`, or a whole call as the arguments of itself.

    Gemma 4 writes the first. Ollama's issue 11805 reports the last.
    """
    name, args = written
    once = name[: len(name) // 2]
    known = {tool.name: tool.parameters.get("properties", {}) for tool in tools}
    if name not in known and name in (f"{once}:{once}", f"{once}.{once}"):
        name = once
    properties = known.get(name, {})
    match args:
        case {"name": str(inner), "arguments": dict(inner_args)} if inner == name:
            if len(args) == 2 and not {"name", "arguments"} & set(properties):
                args = inner_args
        case dict() if set(args) == {name} and name not in properties:
            args = args[name] if isinstance(args[name], dict) else args
    return Written(name, args)
