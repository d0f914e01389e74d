"""The page about tools: its script runs, its tables tell what the program does."""

import inspect
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import ScriptError
from remora.pym import Limits, ScriptChecks, load_source
from remora.pym.json_values import MAX_LEVELS
from remora.tools.host.text_files import LIST_LIMIT
from remora.tools.tool import Tool, ToolResult, failed_load, run_tool
from remora.tools.tree import ToolTree
from remora.usecases.tool_lookup import check_script

PAGE = (Path(__file__).parents[2] / "docs/reference/tools.md").read_text(encoding="utf-8")
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
_ROW = re.compile(r"^\| `(\w+)\(([^)]*)\)` \|.*\| (.*) \|$", re.MULTILINE)
_KIND = re.compile(r"^\| `?(\w+)`? \| .* \| `(.+)` \|$", re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_script_tells_where_a_name_is_used(tmp_path: Path) -> None:
    (source,) = blocks("python-script")
    path = tmp_path / "where_used.pym"
    path.write_text(source)
    (tmp_path / "a.py").write_text("def total(): ...\n")
    (tmp_path / "b.py").write_text("from a import total\ntotal()\n")
    known = BUILT_IN.host_functions
    grants = (known["list_files"], known["read_text"])
    script = load_source(source, name="where_used")
    tool = Tool(name="where_used", description="", script=script, grants=grants)
    made = run_tool(tool, {"name": "total"}, ToolTree(tmp_path), clock=CLOCK, seed=0)
    assert check_script(path, ScriptChecks(), known, grants=None).ok
    assert made.error_kind is None
    assert made.result.result == ["a.py:1", "b.py:1", "b.py:2"]
    assert made.result.summary == "total is mentioned in 3 lines"
    assert made.result.knowledge_delta == {"mentions of total": 3}


def test_the_replay_runs_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")

    exec(compile(block, "docs/reference/tools.md", "exec"), {})

    said = block.rpartition("print(error.message)  # ")[2].strip()
    assert capsys.readouterr().out.strip() == said


def test_every_host_function_is_listed_with_parameters_and_time_limit() -> None:
    rows = {name: (words, most) for name, words, most in _ROW.findall(PAGE)}

    assert set(rows) == set(BUILT_IN.host_functions)
    for name, (words, most) in rows.items():
        takes = list(inspect.signature(BUILT_IN.host_functions[name].function).parameters)[1:]
        assert [word for word in words.split(", ") if word] == takes
        assert most.endswith(f"{BUILT_IN.host_functions[name].seconds:g} s")
    assert rows["list_files"][1].startswith(f"{LIST_LIMIT:,} paths")


@pytest.mark.parametrize(("kind", "source"), _KIND.findall(PAGE))
def test_each_error_kind_example_has_that_kind(tmp_path: Path, kind: str, source: str) -> None:
    declared = "from remora.pym import external\n@external\ndef read_text(path: str) -> str: ...\n"
    text = declared + source if "read_text" in source else source
    try:
        script = load_source(text, name="t")
        tool = Tool(name="t", description="", script=script)
        made = run_tool(tool, {}, ToolTree(tmp_path), clock=CLOCK, seed=0)
    except ScriptError as error:
        made = failed_load("t", error, clock=CLOCK, seed=0)

    assert (made.error_kind or "null") == kind


def test_every_kind_has_a_row() -> None:
    kinds = {"null", "syntax", "typing", "runtime", "limit", "crashed", "contract", "denied"}
    told = PAGE.partition("| `error_kind` |")[2].partition("\n\n")[0]

    assert set(re.findall(r"^\| `?(\w+)`? \|", told, re.MULTILINE)) == kinds
    assert {kind for kind, _ in _KIND.findall(PAGE)} == kinds - {"crashed"}


def test_limits_match_the_program() -> None:
    limits = Limits()
    told = [
        f"| computing time | {limits.duration_s:g} s,",
        f"| total time | {limits.wall_s:g} s,",
        f"| memory | {limits.memory_mb} MiB |",
        f"| frames | {limits.recursion} |",
        f"| levels of nesting | {MAX_LEVELS};",
        f"| host calls | {limits.host_calls} |",
        f"all calls together | {limits.carried_bytes // 2**20} MiB |",
        f"| printed output | {limits.print_bytes // 1024} KiB |",
        f"answer | {limits.result_bytes // 2**20} MiB |",
    ]
    assert not [line for line in told if line not in PAGE]


def test_every_contract_key_is_listed() -> None:
    told = PAGE.partition("## Result")[2].partition("## Errors and limits")[0]

    assert not [key for key in ToolResult.__struct_fields__ if not re.search(rf"[`\"]{key}", told)]
