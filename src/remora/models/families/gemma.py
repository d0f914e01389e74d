"""Gemma 4: `<|tool_call>call:f{k:<|"|>v<|"|>,n:3}<tool_call|>`.

The format is defined in the models' chat template (`models/templates/gemma4.jinja` in llama.cpp).
vLLM's issue 53642 reports calls with round brackets.
"""

import re

from remora.models.families.call_reader import CallReader, Family, Written

START, END, ESCAPE = "<|tool_call>", "<tool_call|>", '<|"|>'
MARKS = (START, END, ESCAPE)


def _read(reader: CallReader) -> Written:
    if not (reader.accept(START) and reader.accept("call:")):
        raise reader.unexpected("call:")
    written = reader.named_call(ESCAPE, MARKS)
    reader.finish(END)
    return written


GEMMA = Family(name="gemma", marks=MARKS, begin=re.compile(re.escape(START)), read=_read)
