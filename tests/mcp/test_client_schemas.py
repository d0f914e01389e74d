"""Schemas for strict clients: one type everywhere, and no word that one of them refuses."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from remora.mcp import tool_list
from remora.mcp.client_schemas import client_schema
from remora.mcp.jobs.job_answers import JobAnswers
from remora.pym.declarations import parse_declarations
from remora.pym.input_values import ScriptArguments
from tests.mcp.project import invocation_in

TAKEN = {"type", "description", "enum", "items", "properties", "required", "minimum", "maximum"}
SCRIPT = """
anything = Input("anything")
choice: Literal["a", "b"] | None = Input("choice", default=None, description=" ")
level: Literal[1, 2] = Input("level", default=1, description="how much")
many: list = Input("many")
rows: Optional[list[dict[str, int]]] = Input("rows", default=None)
either: int | str = Input("either", default="")
number: Union[int, float, list[int]] = Input("number")
"""


def assert_strict(schema: Mapping[str, Any]) -> None:
    assert schema.keys() <= TAKEN
    assert isinstance(schema["type"], str)
    assert schema.get("description", "x").strip()
    assert all(isinstance(value, str) and value for value in schema.get("enum", ()))
    assert ("items" in schema) == (schema["type"] == "array")
    for inner in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        assert_strict(inner)


def test_inputs_of_scripts() -> None:
    schema = client_schema(ScriptArguments(parse_declarations(SCRIPT, "s.pym").inputs).schema)
    assert_strict(schema)
    assert schema["properties"] == {
        "anything": {"type": "string"},
        "choice": {"type": "string", "enum": ["a", "b"]},
        "level": {"type": "integer", "description": "how much; one of 1, 2; default 1"},
        "many": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "object"}},
        "either": {"type": "string"},
        "number": {"type": "array", "items": {"type": "integer"}},
    }
    assert schema["required"] == ["anything", "many", "number"]


def test_all_tools(tmp_path: Path, home: Path) -> None:
    with closing(JobAnswers(invocation_in(tmp_path, home))) as jobs:
        tools = [tool for tool in vars(tool_list).values() if isinstance(tool, tool_list.ToolSpec)]
        for tool in (*tools, *jobs.tools.values()):
            assert_strict(tool.schema)
