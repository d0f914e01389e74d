"""A tool on a tree: granted functions only, and an outcome whatever happens."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.pym import Limits, ScriptChecks, load_source
from remora.tools.script_check import check_script
from remora.tools.tool import Tool, ToolRun, run_tool
from remora.tools.tree import ToolTree

CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
WORDS = "from remora.pym import Input, external\n"
READ = WORDS + (
    '"""Not the docstring."""\npath: str = Input("path")\n'
    "@external\ndef read_text(path: str) -> str: ...\n"
)


def tool(source: str, *grants: str) -> Tool:
    granted = tuple(BUILT_IN.host_functions[name] for name in grants)
    return Tool(name="t", description="", script=load_source(source, name="t"), grants=granted)


def run(made: Tool, tree: Path, args: dict[str, Any], **options: Any) -> ToolRun:
    return run_tool(made, args, ToolTree(tree), clock=CLOCK, seed=0, **options)


def test_a_granted_function_works_on_the_tree(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    made = run(
        tool(READ + '{"result": read_text(path), "summary": "Read it"}\n', "read_text"),
        tmp_path,
        {"path": "a.txt"},
    )

    assert (made.result.result, made.result.summary, made.error_kind) == ("hello", "Read it", None)
    assert made.raw_output == {"result": "hello", "summary": "Read it"}
    assert made.isolation == "none"
    assert [call.name for call in made.host_calls] == ["read_text"]


def test_a_function_that_was_not_granted_is_denied(tmp_path: Path) -> None:
    made = run(tool(READ + "read_text(path)\n"), tmp_path, {"path": "a.txt"})

    assert (made.result.outcome, made.error_kind) == ("error", "denied")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("1 / 0\n", "runtime"),
        ("while True: pass\n", "limit"),
        ("...\n", "contract"),
        ("{'error': 10**5000}\n", None),
        ("x = []\nfor _ in range(5000):\n    x = [x]\n{'error': x}\n", None),
        ("{'result': 1, 'summary': 2}\n", "contract"),
    ],
)
def test_whatever_breaks_is_an_error_on_one_line(
    tmp_path: Path, source: str, kind: str | None
) -> None:
    made = run(tool(source), tmp_path, {}, limits=Limits(duration_s=0.2))

    assert (made.result.outcome, made.error_kind) == ("error", kind)
    assert made.result.error
    assert "\n" not in made.result.error


def test_arguments_are_checked_before_the_run(tmp_path: Path) -> None:
    made = run(tool(READ + "read_text(path)\n", "read_text"), tmp_path, {"path": 3})

    assert (made.result.outcome, made.error_kind, made.host_calls) == ("error", "contract", ())
    assert made.result.error == "t.pym: path: 3 is not of type 'string'"


def test_a_failing_host_function_raises_in_the_script(tmp_path: Path) -> None:
    source = READ + "try:\n    x = read_text(path)\nexcept RuntimeError as e:\n    x = str(e)\nx\n"

    made = run(tool(source, "read_text"), tmp_path, {"path": "../etc/passwd"})

    assert "`..`" in made.result.result


def test_a_tools_schema_is_shown_to_the_model(tmp_path: Path) -> None:
    schema = tool('"""Adds.\n\nMore."""\n' + WORDS + 'n: int = Input("n")\nn\n').schema

    assert (schema.name, schema.description) == ("t", "Adds.")
    assert schema.parameters["required"] == ["n"]


def test_the_document_is_the_contract_with_calls_and_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    document = run(tool(READ + "read_text(path)\n", "read_text"), tmp_path, {"path": "a.txt"})

    assert document.document()["host_calls"][0]["result"] == "x"
    assert document.document()["error_kind"] is None
    assert document.document()["outcome"] == "success"


def test_subprocess_isolation_is_on_record(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    source = WORDS + "@external\ndef ruff_check(paths: list) -> list: ...\nruff_check(['a.py'])\n"

    made = run(tool(source, "ruff_check"), tmp_path, {})

    assert made.result.result == []
    assert made.isolation.startswith("L")


def test_checking_a_file_names_what_it_will_not_get(tmp_path: Path) -> None:
    path = tmp_path / "t.pym"
    path.write_text(READ + "@external\ndef unheard() -> int: ...\nread_text(path)\n")

    free = check_script(path, ScriptChecks(), BUILT_IN.host_functions, grants=None)
    bound = check_script(path, ScriptChecks(), [*BUILT_IN.host_functions, "unheard"], grants=[])

    assert (free.ok, free.warnings) == (False, [])
    assert free.errors == ["t.pym:7: there is no host function `unheard`"]
    assert bound.errors == [
        "t.pym:5: `read_text` is not granted",
        "t.pym:7: `unheard` is not granted",
    ]


def test_checking_a_file_that_is_wrong_lists_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "t.pym"
    path.write_text('x: int = "a"\n')

    found = check_script(path, ScriptChecks(), BUILT_IN.host_functions, grants=None)

    assert not found.ok
    assert found.errors[0].startswith("t.pym:1: ")


@pytest.mark.parametrize(
    "function", BUILT_IN.host_functions.values(), ids=list(BUILT_IN.host_functions)
)
def test_every_host_function_says_what_it_does(function: Callable[..., Any]) -> None:
    assert function.__doc__
