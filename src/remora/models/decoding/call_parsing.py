"""Parsing of the first call in a model's text, in the format that its marks show."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.argument_types import typed_arguments
from remora.models.decoding.call_formats import BARE_JSON, FAMILIES, FORM, Family, spoken_calls
from remora.models.decoding.call_reader import MAX_CHARS, CallReader, Written
from remora.models.decoding.call_validation import BadCall, find_tool, granted_call, short_repr

_MAX_PARTS = 100
"""Decision: thoughts and values around the call, so that reading stays linear."""
_THOUGHTS = {f"<{tag}>": f"</{tag}>" for tag in ("think", "thinking", "thought", "seed:think")}
_THOUGHTS |= {"[THINK]": "[/THINK]", "<|channel>": "<channel|>", "<|channel|>analysis": "<|end|>"}
_THOUGHTS |= {"◁think▷": "◁/think▷"}
"""Marks around thinking: of most models, of Magistral, Gemma 4, gpt-oss and Kimi."""
_ENDS = re.compile("|".join(map(re.escape, _THOUGHTS.values())))
_THINKING = re.compile("|".join(map(re.escape, (*_THOUGHTS, *_THOUGHTS.values()))))
_AROUND = "|".join(re.escape(mark) for family in FAMILIES for mark in family.marks[:2])
_MENTION = re.compile(rf"""["'`]?[^][<>{{}}()"'=:]*(?={_THINKING.pattern}|{_AROUND})""")
"""After a mark: only words up to the next one, so that no call begins here."""
_RAW_NAME = re.compile(
    r"""(?:<[^<>]*>|[\s"'`])*(?:[\w-]+[.:/])*?([\w-]+)(?:[.:]\d+)?(?:\(\))?[\s"'`:?]*(?:[<\[].*)?""",
    re.DOTALL,
)
_MAX_NAME_CHARS = 200
"""Text that servers and models write around a name: `functions.f:0` (Kimi K2), `f<|channel|>commentary`
(gpt-oss), `default_api.f` (Gemini), `f:f` (Gemma 4), spaces, quotes, brackets. Decision: no more."""


def read_written_call(text: str, tools: Sequence[ToolSchema]) -> Written:
    """Return the first call in `text`. Words and thinking around it and further calls are ignored.

    Raises BadCall, with a one-line message, if there is no call or if there are two readings.
    """
    if len(text) > MAX_CHARS:
        raise BadCall(f"the answer has {len(text):,} characters (maximum {MAX_CHARS:,})")
    if not text.strip():
        raise BadCall("the answer is empty")
    return _first_call(text, spoken_calls(tool.name for tool in tools))


def known_call(written: Written, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return a call with the types that its tool declares. Raises BadCall if no tool accepts it."""
    name = _known_name(written.name, tools)
    tool = next((tool for tool in tools if tool.name == name), ToolSchema(name=name))
    args = _without_doubled_name(written.args, tool)
    if any(isinstance(key, int) for key in args):
        args = _with_names(args, find_tool(name, tools))
    return granted_call(ToolCall(tool=name, args=typed_arguments(args, tool)), tools)


def _known_name(written: str, tools: Sequence[ToolSchema]) -> str:
    """Return the name of the one tool that a name must mean, or the name as it is written."""
    names = {tool.name for tool in tools}
    if written in names or len(written) > _MAX_NAME_CHARS:
        return written
    fitting = names.intersection(re.findall(r"[\w-]+", written))
    found = _RAW_NAME.fullmatch(written)
    return found[1] if found and fitting == {found[1]} else written


def _with_names(args: dict[Any, Any], tool: ToolSchema) -> dict[str, Any]:
    """Return the arguments by name. Without names, all must be there, in the declared order."""
    names = list(tool.parameters.get("properties", {}))
    if len(names) != 1 and list(args) == [0] and isinstance(args[0], dict):
        return args[0]
    named = {names[key] if key in range(len(names)) else key: args[key] for key in args}
    if len(args) != len(names) or set(named) != set(names):
        takes = ", ".join(names) or "none"
        raise BadCall(f"{tool.name}: write each argument as NAME=VALUE; it takes {takes}")
    return named


def split_thinking(text: str) -> tuple[str, int]:
    """Return the text after the thinking at its beginning, and the characters of that thinking.

    Thinking stays if nothing follows, so that a call in it can be refused with the reason.
    """
    said = text.lstrip()
    closing = next((end for mark, end in _THOUGHTS.items() if said.startswith(mark)), None)
    if closing is None:
        return text, 0
    thinking, _, rest = said.partition(closing)
    return rest.lstrip() or text, len(thinking)


def _first_call(text: str, spoken: Family) -> Written:
    """Return the first call after thinking, of which the answer may hold only the end."""
    marked, alone = list[Written](), list[Written]()
    for family, written, at in _parts(text, spoken):
        if written is None:
            marked, alone = [], []
        else:
            (alone if family is spoken else marked).append(written)
        if marked and _ENDS.search(text, at) is None:
            break
    if not marked and any(written != alone[0] for written in alone):  # some may be examples
        raise BadCall(f"the answer has {len(alone)} calls; write only one")
    if calls := marked or alone:
        return calls[0]
    if _THINKING.search(text) and _next_family(text, 0, spoken)[1] < len(text):
        raise BadCall("the only call is inside thinking; write it after the thinking")
    for begin in spoken.begin.finditer(text):
        CallReader(text, begin.start()).named_call()
    raise BadCall(f"the answer has no tool call: {short_repr(text)}; write {FORM}")


def _parts(text: str, spoken: Family) -> Iterator[tuple[Family, Written | None, int]]:
    """Yield each call, and None for an end of thinking without a beginning, with the place after.

    A call before such an end is only thought. Nothing is read after a call that cannot be read,
    because its strings may hold other calls.
    """
    at = 0
    for _ in range(_MAX_PARTS):
        family, start = _next_family(text, at, spoken)
        if mark := _THINKING.search(text, at, start):
            at = mark.end()
            if (closing := _THOUGHTS.get(mark[0])) is None:
                yield family, None, at
            elif (end := text.find(closing, at)) >= 0:
                at = end + len(closing)
            else:
                raise BadCall("the answer ends inside thinking; write the call after it")
        elif start < len(text):
            reader = CallReader(text, start)
            written, at = family.read(reader), reader.at
            if written is not None:
                yield family, written, at
        else:
            return
    raise BadCall("the answer has too many parts around a call")


def _next_family(text: str, at: int, spoken: Family) -> tuple[Family, int]:
    """Return the family of the next call and the place of its mark, or the end of the text.

    Marks in the strings of a call without marks that comes first are text.
    """
    first, end = BARE_JSON, len(text)
    for family in (*FAMILIES, BARE_JSON, spoken):
        for begin in family.begin.finditer(text, at, end):
            if not family.marks or _MENTION.match(text, begin.end()) is None:
                first, end = family, begin.start()
                break
    return first, end


def _without_doubled_name(args: dict[Any, Any], tool: ToolSchema) -> dict[Any, Any]:
    """Take off a repeated name: `f{f:{…}}`, or a call as its own arguments (Ollama's issue 11805)."""
    known = tool.parameters.get("properties", {})
    match args:
        case {"name": tool.name, "arguments": dict(inner)} if len(args) == 2:
            return args if args.keys() & known else inner
        case {tool.name: dict(inner)} if len(args) == 1 and tool.name not in known:
            return inner
    return args
