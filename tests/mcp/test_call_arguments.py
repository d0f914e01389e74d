"""Arguments of calls as clients write them, and their schemas, which strict clients take."""

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.errors import UsageError
from remora.mcp import tool_list
from remora.mcp.call_arguments import place_paths, read_values
from remora.mcp.jobs.job_answers import JobAnswers
from remora.mcp.tool_list import (
    CONTEXT,
    HUB_CALLERS,
    HUB_SEARCH,
    TRACE_PACKET,
    VERIFY_EDIT,
    client_schema,
)
from remora.pym.declarations import parse_declarations
from remora.pym.script import ScriptArguments
from tests.mcp.project import invocation_in

LARGE = [{"old": "1" * 60_000}]
DEEP = "[" * 900 + " " * 60_000 + "1" + ", 1]" * 900


@pytest.mark.parametrize(
    ("tool", "written", "meant"),
    [
        (HUB_CALLERS, {"name": "5", "depth": "2", "limit": " 5 "}, {"name": "5", "depth": 2, "limit": 5}),
        (HUB_SEARCH, {"query": "[true]"}, {"query": "[true]"}),
        (HUB_SEARCH, {"query": 3, "limit": "many"}, {"query": "3", "limit": "many"}),
        (VERIFY_EDIT, {"path": "1", "edits": '[{"old": "1"}]'}, {"path": "1", "edits": [{"old": "1"}]}),
        (VERIFY_EDIT, {"edits": ['{"old": "1"}'], "apply": "true"}, {"edits": [{"old": "1"}], "apply": True}),
        (VERIFY_EDIT, {"edits": json.dumps(json.dumps([{"old": "1"}])), "apply": None}, {"edits": [{"old": "1"}]}),
        (VERIFY_EDIT, {"edits": json.dumps(LARGE)}, {"edits": LARGE}),
        (HUB_CALLERS, {"depth": 2.0, "limit": "5.0", "offset": None}, {"depth": 2, "limit": 5}),
        *((VERIFY_EDIT, {"edits": text}, {"edits": text}) for text in ('[{"old": "1"', DEEP)),
    ],
)  # fmt: skip
def test_a_value_in_a_text_is_read_where_no_text_is_allowed(
    tool: Any, written: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert read_values(written, tool) == meant


TOO_DEEP = pytest.param(
    msgspec.json.decode(DEEP),
    marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="no limit at this depth"),
)


@pytest.mark.parametrize("edits", [r'[{"old": "\ud800"}]', TOO_DEEP])
def test_what_cannot_be_passed_on_is_refused(edits: Any) -> None:
    with pytest.raises(UsageError, match="deep nesting or a lone surrogate"):
        read_values({"edits": edits}, VERIFY_EDIT)


@pytest.mark.parametrize(
    "spelled",
    [
        "a b/c.py", "{}/a b/c.py", "./a b/c.py", "x/../a b//c.py", "{}/./a b/c.py", r"a b\c.py",
        r".\a b\c.py", "file://{}/a%20b/c.py", "file:{}/a b/c.py", "file://localhost{}/a b/c.py",
        "{}/../link/a b/c.py", "{}//a b///c.py", "/{}/a b/c.py", "{}/.//a b/c.py", "file:///{}//a b/c.py",
    ],
)  # fmt: skip
def test_a_path_of_the_project_may_be_spelled_in_many_ways(tmp_path: Path, spelled: str) -> None:
    root = tmp_path / "r: 1"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    for rest in ("", ":f", ":3", "::TestX::test_y[a/../b]"):
        path = spelled.format(root) + rest
        for tool, name in ((CONTEXT, "name"), (HUB_SEARCH, "query"), (TRACE_PACKET, "agent")):
            assert place_paths({name: path}, tool, root) == {name: f"a b/c.py{rest}"}
    line = place_paths({"name": f"file://{root}/c.py#L3-L5", "edits": "./x"}, CONTEXT, root)
    assert line == {"name": "c.py:3", "edits": "./x"}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a.py", "file:///etc/a.py", r"C:\a.py", "D:/a.py", r"\\host\a.py"]
)
def test_a_path_outside_the_project_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="is outside the project"):
        place_paths({"name": f"{path}:f"}, CONTEXT, Path("/r"))
    assert place_paths({"query": path}, HUB_SEARCH, Path("/r")) == {"query": path}


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
