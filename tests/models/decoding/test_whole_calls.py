"""Calls as the models' templates write them are read with every value as it was."""

from typing import Any

import pytest

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_parsing import parse_call
from tests.models.decoding.written_calls import WRITE

VALUES: list[tuple[str, Any]] = [
    ("string", "a, b}:{[] (c) = \n\"d\" 'e' \\f \\n é😀"),
    ("string", ""),
    ("string", "3"),
    ("string", "true"),
    ("integer", -7),
    ("number", 0.5),
    ("number", 1e-7),
    ("boolean", True),
    ("null", None),
    ("array", ["a", "b"]),
    ("array", []),
    ("object", {"at": "7:00", "days": [1, 2]}),
]


@pytest.mark.parametrize("family", WRITE)
@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value(family: str, kind: str, value: Any) -> None:
    properties = {"value": {"type": kind}, "other": {"type": "integer"}}
    tool = ToolSchema(name="put", parameters={"type": "object", "properties": properties})
    args = {"value": value, "other": 1}
    assert parse_call(WRITE[family]("put", args), [tool]) == ToolCall(tool="put", args=args)
