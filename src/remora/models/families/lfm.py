"""LFM2 and LFM2.5: `<|tool_call_start|>[f(k="v", n=3)]<|tool_call_end|>`, or JSON in these marks.

The format is defined in Liquid's guide "Tool use" and in the models' chat templates
(`models/templates/LFM2.5-8B-A1B.jinja` in llama.cpp).
"""

import re

from remora.models.decoding.call_validation import BadCall
from remora.models.families.bare_json import read_call
from remora.models.families.call_reader import CallReader, Family, Written

START, END = "<|tool_call_start|>", "<|tool_call_end|>"
_JSON = re.compile(r"\s*\[?\s*\{")


def _read(reader: CallReader) -> Written:
    reader.accept(START)
    if _JSON.match(reader.text, reader.at):
        return read_call(reader, END)
    reader.accept("[")
    written = reader.named_call()
    try:
        while reader.accept(","):
            reader.named_call()
    except BadCall:  # of a further call, in whose strings nothing may be read
        reader.at = len(reader.text)
    reader.finish(END, "]")
    return written


LFM = Family(name="lfm", marks=(START, END), begin=re.compile(re.escape(START)), read=_read)
