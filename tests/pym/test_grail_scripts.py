"""Scripts written in the Grail convention, which must run unchanged."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from remora.pym import Limits, load_source

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
HEADER = "from grail import Input, external\nfrom typing import Any\n"
FILES = {"a.py": "import os\nx = 1\n", "notes.md": "one\ntwo\nthree\n"}
EDGES = [{"from_id": "a", "to_id": "b"}, {"from_id": "a", "to_id": "c", "edge_type": "calls"}]
HOST: Mapping[str, Callable[..., Any]] = {
    "file_exists": lambda path: path in FILES,
    "read_file": lambda path: FILES[path],
    "write_file": lambda path, content: None,
    "run_command": lambda cmd, args: {"exit_code": 0, "stdout": " ".join([cmd, *args])},
    "run_json_command": lambda cmd, args: [{"code": "F401", "location": {"row": 1}}],
    "kv_get": lambda key: None if key == "new" else [{"target": "x"}],
    "kv_set": lambda key, value: True,
    "graph_get_edges": lambda target_id: EDGES,
    "graph_get_node": lambda target_id: {"root": {}}.get(target_id, {"name": "p", "parent": "q"}),
    "my_node_id": lambda: "root",
    "spent": lambda uid: uid * 10,
}

SCRIPTS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "another name for the variable": (
        """
x_input: int = Input("x")
x_input * 2
""",
        {"x": 4},
        8,
    ),
    "no type": (
        """
x_input = Input("x")
names = Input("names", default=["b", "a"])
[x_input, *sorted(names)]
""",
        {"x": "c"},
        ["c", "a", "b"],
    ),
    "a default by position": (
        """
department: str = Input("department", "Engineering")
department.upper()
""",
        {},
        "ENGINEERING",
    ),
    "the name of the variable, in single quotes": (
        """
path: str = Input('path')
limit: int = Input(default=3)
f"{path}:{limit}"
""",
        {"path": "a"},
        "a:3",
    ),
    "one input for two variables": (
        """
node_text_input: str | None = Input("node_text", default=None)
node_text: str | None = Input("node_text", default=None)
[node_text, node_text_input]
""",
        {"node_text": "def f(): ..."},
        ["def f(): ...", "def f(): ..."],
    ),
    "an input between declarations and code": (
        """
@external
async def read_file(path: str) -> str: ...

path_value: str = Input("path", description="Path of the file",
                        default="a.py")
content = await read_file(path_value)
len(content)
""",
        {},
        16,
    ),
    "an early return": (
        """
@external
async def my_node_id() -> str: ...

@external
async def graph_get_node(target_id: str) -> dict: ...

node = await graph_get_node(await my_node_id())
if not node:
    return "This is the root."
return f"Parent: {node['parent']}"
""",
        {},
        "This is the root.",
    ),
    "a result that is returned last": (
        """
target: str = Input("target")
@external
async def graph_get_node(target_id: str) -> dict[str, Any]: ...

node = await graph_get_node(target_id=target)
return {"name": node.get("name", "?"), "parent": node["parent"]}
""",
        {"target": "n"},
        {"name": "p", "parent": "q"},
    ),
    "externals of type object": (
        """
key: str = Input("key")
@external
async def kv_get(key: str) -> object: ...
@external
async def kv_set(key: str, value: object) -> object: ...

links = await kv_get(key) or []
known = any(link.get("target") == "x" for link in links)
links.append({"target": "y"})
saved = await kv_set(key, links)
[known, len(links), saved]
""",
        {"key": "links"},
        [True, 2, True],
    ),
    "externals without types": (
        """
@external
async def graph_get_edges(target_id = None): ...
@external
def kv_set(key, value = None): ...

edges = await graph_get_edges("a")
kv_set("edges", edges)
[edge.get("edge_type", "related") for edge in edges]
""",
        {},
        ["related", "calls"],
    ),
    "an Any that is not imported": (
        """
from grail import external

@external
async def run_command(cmd: str, args: list[str]) -> dict[str, Any]:
    '''Run a command.'''
    ...

done = await run_command(cmd="ruff", args=["check", "."])
done["stdout"]
""",
        {},
        "ruff check .",
    ),
    "a function that awaits": (
        """
@external
async def file_exists(path: str) -> bool: ...
@external
async def read_file(path: str) -> str: ...

async def _read_optional(path: str) -> str | None:
    if await file_exists(path=path):
        return await read_file(path=path)
    return None

[await _read_optional("b.py"), await _read_optional("a.py")]
""",
        {},
        [None, "import os\nx = 1\n"],
    ),
    "a main function": (
        """
path: str = Input("path")
@external
async def read_file(path: str) -> str: ...

async def main() -> dict:
    content = await read_file(path)
    return {"lines": len(content.splitlines())}

await main()
""",
        {"path": "notes.md"},
        {"lines": 3},
    ),
    "several calls at once": (
        """
import asyncio
limit: float = Input("limit")
@external
async def spent(uid: int) -> int: ...

sums = await asyncio.gather(*[spent(uid) for uid in range(3)])
{"over": [value for value in sums if value > limit], "count": len(sums)}
""",
        {"limit": 5.0},
        {"over": [10, 20], "count": 3},
    ),
    "annotations as text": (
        """
from __future__ import annotations
from grail import Input
from typing import Optional

mode: Optional[str] = Input("mode", default=None)
fixtures: list[object] = Input("fixtures")
"" if mode else len(fixtures)
""",
        {"fixtures": [1, {"a": 2}]},
        2,
    ),
    "a contract result": (
        '''
"""Run the linter."""
from grail import Input, external
from typing import Any

check_only: bool = Input("check_only", default=True)
@external
async def run_json_command(cmd: str, args: list[str]) -> list[dict[str, Any]]: ...

try:
    issues = await run_json_command("ruff", ["check"] if check_only else ["check", "--fix"])
    result = {
        "result": {"issues": [issue["code"] for issue in issues]},
        "summary": f"Found {len(issues)} issues",
        "knowledge_delta": {"issue_count": len(issues)},
        "outcome": "success",
    }
except Exception as exc:
    result = {"result": None, "summary": f"Error: {exc}", "outcome": "error", "error": str(exc)}

result
''',
        {"check_only": False},
        {
            "result": {"issues": ["F401"]},
            "summary": "Found 1 issues",
            "knowledge_delta": {"issue_count": 1},
            "outcome": "success",
        },
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_the_grail_convention_runs_unchanged(name: str) -> None:
    source, inputs, expected = SCRIPTS[name]
    header = "" if "from grail" in source else HEADER
    script = load_source(header + source, name="tool")

    run = script.run(inputs, HOST, limits=Limits(), clock=CLOCK, seed=1)

    assert run.error is None
    assert run.value == expected


def test_an_input_is_named_as_callers_name_it() -> None:
    script = load_source('from grail import Input\nx_input = Input("x")\nx_input\n', name="tool")

    run = script.run({"x_input": 1}, {}, limits=Limits(), clock=CLOCK, seed=1)

    assert script.parameters["required"] == ["x"]
    assert run.error is not None
    assert run.error.message == "tool.pym: missing argument: x"
