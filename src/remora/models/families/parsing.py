"""Parsing of the first call in a model's text, in the format that its marks show."""

from collections.abc import Sequence

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.argument_types import typed_arguments
from remora.models.decoding.call_validation import BadCall, granted_call
from remora.models.families.bare_json import BARE_JSON
from remora.models.families.call_reader import CallReader, Family, Written
from remora.models.families.functiongemma import FUNCTIONGEMMA
from remora.models.families.gemma import GEMMA
from remora.models.families.hermes import HERMES
from remora.models.families.lfm import LFM
from remora.models.families.qwen_coder import QWEN_CODER

FAMILIES: tuple[Family, ...] = (FUNCTIONGEMMA, GEMMA, LFM, HERMES, QWEN_CODER)
"""All families with marks. A family is added by its module and its name here."""
MAX_ANSWER_CHARS = 200_000
"""Decision: far above what `answer_tokens` allows, so that no answer takes seconds to read."""
_MAX_PARTS = 16
"""Decision: thoughts and JSON values before the call, so that reading stays linear."""
_THOUGHTS = (("<think>", "</think>"), ("<|channel>", "<channel|>"))
"""Marks around thinking: of most models, and of Gemma 4."""


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
    family, _ = _next_family(text, 0)
    return None if family is BARE_JSON else family.name


def _first_call(text: str) -> Written:
    at, is_thought = 0, False
    for _ in range(_MAX_PARTS):
        family, start = _next_family(text, at)
        if (opened := _thought(text, at, start)) is not None:
            if opened < 0:
                raise BadCall("the answer ends inside thinking; write the call after it")
            at, is_thought = opened, is_thought or start < opened
            continue
        reader = CallReader(text, start)
        read = _read(family, reader)
        if (after := _end_of_thinking(text, reader.at)) is not None:
            at, is_thought = after, True
            continue
        if isinstance(read, Written):
            return read
        if read is None:
            at = reader.at
            continue
        if is_thought and start == len(text):
            raise BadCall("the only call is inside thinking; write it after the thinking")
        raise read
    raise BadCall("the answer has too many parts before a call")


def _read(family: Family, reader: CallReader) -> Written | BadCall | None:
    start = reader.at
    try:
        return family.read(reader)
    except BadCall as bad:
        reader.at = start
        return bad


def _next_family(text: str, at: int) -> tuple[Family, int]:
    """Return the family of the next call and the place of its mark.

    Marks in the strings of a bare JSON value that comes first are text.
    """
    found = [
        (match.start(), family) for family in FAMILIES if (match := family.begin.search(text, at))
    ]
    start, family = min(found, key=lambda place: place[0], default=(len(text), BARE_JSON))
    bare = BARE_JSON.begin.search(text, at)
    if bare is not None and bare.start() < start:
        return BARE_JSON, bare.start()
    return family, start


def _thought(text: str, at: int, end: int) -> int | None:
    """Return the place after a thought that begins before `end`, or -1 if it does not end."""
    for opening, closing in _THOUGHTS:
        if (start := text.find(opening, at, end)) >= 0:
            after = text.find(closing, start)
            return after if after < 0 else after + len(closing)
    return None


def _end_of_thinking(text: str, at: int) -> int | None:
    """Return the place after the end of thinking that was opened before `at`, if there is one."""
    for opening, closing in _THOUGHTS:
        end = text.find(closing, at)
        if end >= 0 and text.find(opening, at, end) < 0:
            return end + len(closing)
    return None


def _without_doubled_name(written: Written, tools: Sequence[ToolSchema]) -> Written:
    """Take off a repeated name: `f:f{…}`, `f{f:{…}}`, or a whole call as the arguments of itself.

    Gemma 4 writes the first. Ollama's issue 11805 reports the last.
    """
    name, args = written
    half = len(name) // 2
    known = {tool.name: tool.parameters.get("properties", {}) for tool in tools}
    if (
        name not in known
        and name[half : half + 1] in (":", ".")
        and name[:half] == name[half + 1 :]
    ):
        name = name[:half]
    properties = known.get(name, {})
    match args:
        case {"name": str(inner), "arguments": dict(inner_args)} if inner == name:
            if len(args) == 2 and not {"name", "arguments"} & set(properties):
                args = inner_args
        case dict() if set(args) == {name} and name not in properties:
            args = args[name] if isinstance(args[name], dict) else args
    return Written(name, args)
