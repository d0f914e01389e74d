"""A bare JSON object or list without marks, also in a fenced block.

Its forms are Remora's own `{"tool", "args"}`, `{"name", "arguments"}` of Hermes and OpenAI,
`{"name", "parameters"}` of Llama 3.1's prompt format, and OpenAI's `{"function": {…}}`, whose
arguments are JSON in a string.
"""

import re
from typing import Any

from remora.models.decoding.argument_types import Bare
from remora.models.decoding.call_validation import BadCall
from remora.models.families.call_reader import QUOTED, CallReader, Family, Written

FORM = '{"tool": NAME, "args": {…}}'
BEGIN = re.compile(r"""\{\s*["']|\[\s*\{\s*["']""")
_FORMS = (("tool", "args"), ("name", "arguments"), ("name", "parameters"))
_EXTRA = {"id", "type"}
_CALL_KEYS = {"function", *(key for form in _FORMS for key in form)}
_CALL_KEY = re.compile(rf"""["'](?:{"|".join(_CALL_KEYS)})["']""")
_TOKEN = re.compile(rf"""{QUOTED.pattern}|[][{{}}"']""", re.DOTALL)


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
    written = call_of(value)
    if written is None and not _CALL_KEYS.isdisjoint(value[0] if type(value) is list else value):
        raise BadCall(f"not a call {FORM}")
    return written


def _end_of_brackets(text: str, at: int) -> int | None:
    """Return the end of the brackets that begin at `at`. None if they or a string do not end."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
        if token[0] in {'"', "'"}:
            return None
    return None


BARE_JSON = Family(name="json", marks=(), begin=BEGIN, read=_read)
