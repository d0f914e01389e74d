"""Qwen3-Coder and Qwen3.5: `<tool_call><function=f><parameter=k>v</parameter></function></tool_call>`.

The format is defined in the models' chat templates. The reference parser, `qwen3coder_tool_parser`
of Qwen3-Coder and vLLM, takes one line break off each end of a value.
"""

import re
from typing import Any

from remora.models.decoding.argument_types import Bare
from remora.models.decoding.call_validation import BadCall, short_repr
from remora.models.families.call_reader import CallReader, Family, Written

START, END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"
OUTER, OUTER_END = "<tool_call>", "</tool_call>"
_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.:-]*)\s*>")
_VALUE_END = re.compile(
    rf"{PARAMETER_END}(?=\s*(?:{PARAMETER}|{END}|{OUTER_END}|\Z))|(?={END}\s*(?:{OUTER_END}|\Z))"
)
_FURTHER_CALL = re.compile(rf"{START}[^<>]*>.*?(?:{END}|\Z)", re.DOTALL)


def _read(reader: CallReader) -> Written:
    reader.accept(OUTER)
    reader.accept(START)
    name = _name(reader)
    args: dict[str, Any] = {}
    while reader.accept(PARAMETER):
        key = _name(reader)
        value = Bare(_value(reader))
        if args.setdefault(key, value) != value:
            raise BadCall(f"{key} is given twice in one call, with different values")
    reader.finish(END, OUTER_END)
    if PARAMETER_END in _FURTHER_CALL.sub("", reader.text[reader.at :]):
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
    if any(mark in text for mark in (PARAMETER, PARAMETER_END, START, END)):
        raise BadCall(f"it is not clear where an argument ends: {short_repr(text)}")
    reader.at = found.end()
    return text.removeprefix("\n").removesuffix("\n")


QWEN_CODER = Family(
    name="qwen_coder",
    marks=(OUTER, OUTER_END, START, END, PARAMETER, PARAMETER_END),
    begin=re.compile(rf"(?:{OUTER}\s{{0,16}})?{START}"),
    read=_read,
)
