"""The call formats of small models. Each family writes a call between its own marks.

Sources: Google's guide "FunctionGemma formatting and best practices"; the chat templates of Gemma 4,
LFM2 (also Liquid's guide "Tool use"), Qwen2.5, Qwen3 and Qwen3-Coder; Nous Research's repository
Hermes-Function-Calling; for Gemma 4's round brackets vLLM's issue 53642; for values of Qwen3-Coder
its reference parser `qwen3coder_tool_parser`, which takes one line break off each end.

A call without marks is a bare JSON object or list, also in a fenced block. Its forms are Remora's own
`{"tool", "args"}`, `{"name", "arguments"}` of Hermes and OpenAI, `{"name", "parameters"}` of Llama
3.1's prompt format, and OpenAI's `{"function": {…}}`, whose arguments are JSON in a string.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from remora.models.decoding.call_reader import QUOTED, Bare, CallReader, Written
from remora.models.decoding.call_validation import BadCall, short_repr
from remora.models.decoding.native_calls import read_arguments

FORM = '{"tool": NAME, "args": {…}}'
_BEGIN = re.compile(r"""\{\s*["']|\[\s*\{\s*["']""")
_FORMS = (("tool", "args"), ("name", "arguments"), ("name", "parameters"))
_EXTRA = {"id", "type"}
_CALL_KEYS = {"function", *(key for form in _FORMS for key in form)}
_CALL_KEY = re.compile(rf"""["'](?:{"|".join(_CALL_KEYS)})["']""")
_JSON_TOKEN = re.compile(rf"""{QUOTED.pattern}|[][{{}}"']""", re.DOTALL)
_LFM_START, _LFM_END = "<|tool_call_start|>", "<|tool_call_end|>"
_LFM_JSON = re.compile(r"\s*\[?\s*\{")
_TOOL_CALL, _TOOL_CALL_END = "<tool_call>", "</tool_call>"
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"
_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.:-]*)\s*>")
_VALUE_END = re.compile(
    rf"{_PARAMETER_END}(?=\s*(?:{_PARAMETER}|{_FUNCTION_END}|{_TOOL_CALL_END}|\Z))"
    rf"|(?={_FUNCTION_END}\s*(?:{_TOOL_CALL_END}|\Z))"
)
_WORDS_IN_BRACKETS = re.compile(r"""\([^][{}()"'<>]*\)(?!\w)""")
_LINE_BEFORE = re.compile(
    r"(?:\A|\n|[\w|]>|K\]|(?<!\.\w)[.:!?][ \t])[ ]{0,3}(?:(?:[-*>]|\d+[.)])[ \t]+)?(?:\w+ = |print\()?[`*\[]*\Z"
)
_LINE_AFTER = re.compile(r"[]`;.*)]*[ \t]*(?:#[^\n]*)?(?:[\r\n<]|\Z)")
_BEFORE_CHARS = 40
"""Decision: what is looked at before a call, so that reading stays linear."""
_FURTHER_CALL = re.compile(rf"{_FUNCTION}[^<>]*>.*?(?:{_FUNCTION_END}|\Z)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A call format."""

    name: str
    marks: tuple[str, ...]
    """Its control tokens. The first two are around a call."""
    begin: re.Pattern[str]
    """Finds the start of a call."""
    read: Callable[[CallReader], Written | None]
    """Reads the call that begins where the reader is. Raises BadCall if there is none, and returns
    None if another one may follow.
    """


def _escaped_calls(name: str, start: str, end: str, escape: str) -> Family:
    """Return the family of `START call:f{k:ESCAPE v ESCAPE,n:3} END`, which two models share."""
    marks = (start, end, escape)

    def read(reader: CallReader) -> Written:
        if not (reader.accept(start) and reader.accept("call") and reader.accept(":")):
            raise reader.unexpected("call:")
        written = reader.named_call(escape, marks)
        reader.finish(end)
        return written

    return Family(name=name, marks=marks, begin=re.compile(re.escape(start)), read=read)


def _call_of(value: Any, short: str = "name") -> Written | None:
    """Return the call that a value, or the first of a list, describes. It may be `short` alone."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and set(value) - _EXTRA == {"function"}:
        value = value["function"]
    if not isinstance(value, dict):
        return None
    for name_key, args_key in _FORMS:
        if name_key in value and set(value) - _EXTRA in ({name_key, args_key}, {"tool"}, {short}):
            name = value[name_key]
            if isinstance(name, str) and not isinstance(name, Bare):
                return Written(name, read_arguments(value.get(args_key)))
    return None


def _read_call(reader: CallReader, end: str) -> Written:
    """Read the call before the mark `end`: a JSON value, or `NAME(key=value)`."""
    is_json = reader.is_next("{") or reader.is_next("[")
    if (written := _call_of(reader.value()) if is_json else reader.named_call()) is None:
        raise BadCall(f"not a call {FORM}")
    reader.finish(end)
    return written


def _read_bare(reader: CallReader) -> Written | None:
    """Read one value. Return None if it is not a call, such as a plan or a dict in Python."""
    start = reader.at
    try:
        value = reader.value()
    except BadCall:
        end = _end_of_brackets(reader.text, start)
        if end is None or _CALL_KEY.search(reader.text, start, end):
            raise
        reader.at = end
        return None
    written = _call_of(value, "tool")
    if written is None and not _CALL_KEYS.isdisjoint(value[0] if type(value) is list else value):
        raise BadCall(f"not a call {FORM}")
    return written


def _end_of_brackets(text: str, at: int) -> int | None:
    """Return the end of the brackets that begin at `at`. None if they or a string do not end."""
    depth = 0
    for token in _JSON_TOKEN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
        if token[0] in {'"', "'"}:
            return None
    return None


def spoken_calls(names: Iterable[str]) -> Family:
    """Return the family of `NAME(key=value)`, as packets show calls, of tools with these names.

    It is a call if it is alone on its line or follows a sentence. Others are words, such as
    `I do not use stop()`, and their strings are not read.
    """
    known = "|".join(map(re.escape, names)) or r"(?!)"
    begin = re.compile(rf"(?<![\w.])(?:(?:functions|default_api)[.])?(?:{known})\(")

    def read(reader: CallReader) -> Written | None:
        start = reader.at
        try:
            written = reader.named_call()
        except BadCall:
            words = _WORDS_IN_BRACKETS.match(reader.text, reader.text.index("(", start))
            if words is None:
                raise
            reader.at = words.end()
            return None
        before = _LINE_BEFORE.search(reader.text, max(start - _BEFORE_CHARS, 0), start)
        return written if before and _LINE_AFTER.match(reader.text, reader.at) else None

    return Family(name="spoken", marks=(), begin=begin, read=read)


def _read_lfm(reader: CallReader) -> Written:
    reader.accept(_LFM_START)
    if _LFM_JSON.match(reader.text, reader.at):
        return _read_call(reader, _LFM_END)
    reader.accept("[")
    written = reader.named_call()
    try:
        while reader.accept(","):
            reader.named_call()
    except BadCall:  # of a further call, in whose strings nothing may be read
        reader.at = len(reader.text)
    reader.finish(_LFM_END, "]")
    return written


def _read_hermes(reader: CallReader) -> Written:
    reader.accept(_TOOL_CALL)
    return _read_call(reader, _TOOL_CALL_END)


def _read_qwen_coder(reader: CallReader) -> Written:
    reader.accept(_TOOL_CALL)
    reader.accept(_FUNCTION)
    name = _name(reader)
    args: dict[str, Any] = {}
    while reader.accept(_PARAMETER):
        key = _name(reader)
        value = Bare(_value(reader))
        if args.setdefault(key, value) != value:
            raise BadCall(f"{key} is given twice in one call, with different values")
    reader.finish(_FUNCTION_END, _TOOL_CALL_END)
    if _PARAMETER_END in _FURTHER_CALL.sub("", reader.text[reader.at :]):
        raise BadCall(f"it is not clear where the call of {short_repr(name)} ends")
    return Written(name, args)


def _name(reader: CallReader) -> str:
    if (found := _NAME.match(reader.text, reader.at)) is None:
        raise reader.unexpected("a name and >")
    reader.at = found.end()
    return found[1]


def _value(reader: CallReader) -> str:
    found = _VALUE_END.search(reader.text, reader.at)
    text = reader.text[reader.at : found.start() if found else None]
    if found is None:
        raise BadCall(f"the answer ends inside an argument: {short_repr(text)}")
    if any(mark in text for mark in (_PARAMETER, _PARAMETER_END, _FUNCTION, _FUNCTION_END)):
        raise BadCall(f"it is not clear where an argument ends: {short_repr(text)}")
    reader.at = found.end()
    return text.removeprefix("\n").removesuffix("\n")


FUNCTIONGEMMA_CALLS = _escaped_calls(
    "functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"
)
"""`<start_function_call>call:f{k:<escape>v<escape>,n:3}<end_function_call>`"""
_GEMMA = _escaped_calls("gemma", "<|tool_call>", "<tool_call|>", '<|"|>')
"""Gemma 4: `<|tool_call>call:f{k:<|"|>v<|"|>,n:3}<tool_call|>`"""
_LFM = Family(
    name="lfm",
    marks=(_LFM_START, _LFM_END),
    begin=re.compile(re.escape(_LFM_START)),
    read=_read_lfm,
)
"""LFM2 and LFM2.5: `<|tool_call_start|>[f(k="v", n=3)]<|tool_call_end|>`, or JSON in these marks."""
_HERMES = Family(
    name="hermes",
    marks=(_TOOL_CALL, _TOOL_CALL_END),
    begin=re.compile(rf"{_TOOL_CALL}(?!\s{{0,16}}{_FUNCTION})"),  # Qwen3-Coder shares the mark
    read=_read_hermes,
)
"""Hermes and Qwen3: `<tool_call>{"name": "f", "arguments": {"k": "v"}}</tool_call>`"""
_QWEN_CODER = Family(
    name="qwen_coder",
    marks=(_TOOL_CALL, _TOOL_CALL_END, _FUNCTION, _FUNCTION_END, _PARAMETER, _PARAMETER_END),
    begin=re.compile(rf"(?:{_TOOL_CALL}\s{{0,16}})?{_FUNCTION}"),
    read=_read_qwen_coder,
)
"""`<tool_call><function=f><parameter=k>v</parameter></function></tool_call>`"""
BARE_JSON = Family(name="json", marks=(), begin=_BEGIN, read=_read_bare)

FAMILIES: tuple[Family, ...] = (FUNCTIONGEMMA_CALLS, _GEMMA, _LFM, _HERMES, _QWEN_CODER)
MARKS = tuple(dict.fromkeys(mark for family in FAMILIES for mark in family.marks))
