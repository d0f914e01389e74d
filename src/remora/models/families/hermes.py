"""Hermes and Qwen3: `<tool_call>{"name": "f", "arguments": {"k": "v"}}</tool_call>`.

The format is defined in Nous Research's repository Hermes-Function-Calling and in the chat
templates of Qwen2.5 and Qwen3.
"""

import re

from remora.models.families.bare_json import read_call
from remora.models.families.call_reader import CallReader, Family, Written

START, END = "<tool_call>", "</tool_call>"


def _read(reader: CallReader) -> Written:
    reader.accept(START)
    return read_call(reader, END)


HERMES = Family(
    name="hermes",
    marks=(START, END),
    # Qwen3-Coder shares the mark
    begin=re.compile(rf"{START}(?!\s{{0,16}}<function=)"),
    read=_read,
)
