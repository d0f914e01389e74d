"""FunctionGemma: `<start_function_call>call:f{k:<escape>v<escape>,n:3}<end_function_call>`.

The format is defined in Google's guide "FunctionGemma formatting and best practices" and in the
chat template of google/functiongemma-270m-it.
"""

import re

from remora.models.families.call_reader import CallReader, Family, Written

START, END, ESCAPE = "<start_function_call>", "<end_function_call>", "<escape>"
MARKS = (START, END, ESCAPE)


def _read(reader: CallReader) -> Written:
    if not (reader.accept(START) and reader.accept("call:")):
        raise reader.unexpected("call:")
    written = reader.named_call(ESCAPE, MARKS)
    reader.finish(END)
    return written


FUNCTIONGEMMA = Family(
    name="functiongemma", marks=MARKS, begin=re.compile(re.escape(START)), read=_read
)
