"""A bare JSON object or list without marks, also in a fenced block.

Its forms are Remora's own `{"tool", "args"}`, `{"name", "arguments"}` of Hermes and OpenAI,
`{"name", "parameters"}` of Llama 3.1's prompt format, and OpenAI's `{"function": {…}}`, whose
arguments are JSON in a string.
"""

import re
from typing import Any

from remora.models.decoding.argument_types import Bare
from remora.models.decoding.call_validation import BadCall, short_repr
from remora.models.families.call_reader import CallReader, Family, Written

FORM = '{"tool": NAME, "args": {…}}'
BEGIN = re.compile(r"""\{\s*["']|\[\s*\{\s*["']""")
_FORMS = (("tool", "args"), ("name", "arguments"), ("name", "parameters"))
_EXTRA = {"id", "type"}


def call_of(value: Any) -> Written | None:
    """Return the call that a value describes, or the first of a list. None if there is none."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and set(value) - _EXTRA == {"function"}:
        value = value["function"]
    if not isinstance(value, dict):
        return None
    for name_key, args_key in _FORMS:
        if set(value) - _EXTRA == {name_key, args_key}:
            name, args = value[name_key], _arguments(value[args_key])
            if isinstance(name, str) and not isinstance(name, Bare) and args is not None:
                return Written(name, args)
    return None


def read_call(reader: CallReader, end: str) -> Written:
    """Read the call that a JSON value before the mark `end` describes."""
    if not (reader.is_next("{") or reader.is_next("[")):
        raise reader.unexpected(FORM)
    if (written := call_of(reader.value())) is None:
        raise BadCall(f"not a call {FORM}")
    reader.finish(end)
    return written


def _arguments(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str) and not isinstance(value, Bare):
        reader = CallReader(value)
        value = reader.value() if reader.is_next("{") else None
        if reader.text[reader.at :].strip():
            return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


def _read(reader: CallReader) -> Written | None:
    """Read one value. Return None if it is not a call, such as a plan before the call."""
    if reader.at < len(reader.text):
        return call_of(reader.value())
    raise BadCall(f"the answer has no tool call: {short_repr(reader.text)}; write {FORM}")


BARE_JSON = Family(name="json", marks=(), begin=BEGIN, read=_read)
