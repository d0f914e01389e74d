"""`tools list`, `check` and `run`: scripts tried on a copy, with nothing of the user's changed."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, tree, write

COUNT = '''"""Counts files.

More about it."""

from grail import Input, external

pattern: str = Input("pattern", default="**/*.py")
limit: int = Input("limit", default=10)
names: list[str] = Input("names", default=[])


@external
async def list_files(pattern: str) -> list[str]: ...


@external
def unheard() -> int: ...


found = await list_files(pattern)
print("looked")
{
    "result": {"files": found, "names": names, "mean": 0.5, "none": float("nan")},
    "summary": f"{len(found)} files",
    "outcome": "success" if len(found) <= limit else "partial",
}
'''
WRITES = """from remora.pym import external
@external
def write_new_file(path: str, text: str) -> dict: ...
write_new_file("src/new.py", "x = 1\\n")
"""
AGENT = """
name: own
operation: own
goal: Look at {node_name}
tools:
  - {name: count, script: count.pym, grants: [list_files]}
  - {name: run_linter, script: count.pym}
"""


@pytest.fixture
def own(project: Path) -> Path:
    write(project / ".remora/agents/own", {"agent.yaml": AGENT, "count.pym": COUNT})
    return project


def test_list_shows_every_tool_and_host_function(poor: Remora, own: Path) -> None:
    document = poor("tools", "list", "--json", cwd=own).document
    tools = {tool["name"]: tool for tool in document["tools"]}

    assert {"steps/run_linter", "steps/apply_fix", "own/count", "own/run_linter"} <= set(tools)
    assert tools["own/count"] == {
        "name": "own/count",
        "agent": "own",
        "tool": "count",
        "builtin": False,
        "description": "Counts files.",
        "parameters": tools["own/count"]["parameters"],
        "grants": ["list_files"],
        "path": str(own / ".remora/agents/own/count.pym"),
        "error": "",
    }
    assert list(tools["own/count"]["parameters"]["properties"]) == ["pattern", "limit", "names"]
    functions = {each["name"]: each for each in document["host_functions"]}
    assert functions["read_text"]["signature"] == "read_text(path: str) -> str"
    assert all(each["description"] for each in functions.values())
    listed = poor("tools", "list", cwd=own).out
    (head,) = [line for line in listed.splitlines() if line.startswith("own/count(")]
    assert "limit=" in head
    assert f"{head}\n    Counts files.\n    may call list_files\n" in listed


def test_a_wrong_definition_or_script_is_in_nobodys_way(poor: Remora, own: Path) -> None:
    write(own, {".remora/agents/bad/agent.yaml": "name: [\n", "free.pym": "1\n"})
    assert poor("tools", "run", "count", cwd=own).code == 0
    assert poor("tools", "check", "free.pym", cwd=own).code == 0
    assert poor("tools", "run", "other", cwd=own).code == 2
    shutil.rmtree(own / ".remora/agents/bad")
    write(own, {".remora/agents/own/count.pym": "x: int = 'a'\n"})

    done = poor("tools", "list", "--json", cwd=own)

    tools = {tool["name"]: tool for tool in done.document["tools"]}
    assert done.code == 0
    assert tools["own/count"]["error"].startswith("count.pym:1: ")
    assert "warning: own/count: count.pym:1" in done.err


def test_check_reports_errors_by_line_and_missing_grants(poor: Remora, own: Path) -> None:
    write(own, {"free.pym": COUNT, "wrong.pym": "x = 1\ny: int = 'a'\n"})
    ours = ".remora/agents/own/count.pym"

    done = poor("tools", "check", "free.pym", "wrong.pym", ours, "--json", cwd=own)

    assert done.code == 1
    assert done.document["ok"] is False
    free, wrong, owned = done.document["scripts"]
    unheard = ":17: there is no host function `unheard`"
    assert free == {
        "path": "free.pym",
        "ok": False,
        "errors": [f"free.pym{unheard}"],
    }
    assert not wrong["ok"]
    assert wrong["errors"][0].startswith("wrong.pym:2: ")
    # one of the two tools that use it does not grant it
    assert owned["errors"] == ["count.pym:13: `list_files` is not granted", f"count.pym{unheard}"]
    write(own, {"free.pym": COUNT.replace("unheard", "read_text")})
    assert poor("tools", "check", "free.pym", cwd=own).code == 0
    assert poor("tools", "check", ours, cwd=own).code == 1


def test_run_gives_the_contract_with_calls_kind_and_outcome(poor: Remora, own: Path) -> None:
    before = tree(own)

    done = poor("tools", "run", "count", "--input", 'names=["a"]', "--json", cwd=own)

    document = done.document
    assert done.code == 0
    assert "it printed:\nlooked" in done.err
    assert document["result"] == {
        "files": ["src/settings.py"],
        "names": ["a"],
        "mean": 0.5,
        "none": {"$float": "nan"},
    }
    assert (document["summary"], document["outcome"]) == ("1 files", "success")
    assert (document["knowledge_delta"], document["error_kind"]) == ({}, None)
    (call,) = document["host_calls"]
    assert (call["name"], call["args"], call["error"]) == ("list_files", ["**/*.py"], None)
    assert tree(own) == before
    partial = poor("tools", "run", "own/count", "--input", "limit=0", "pattern=src/*", cwd=own)
    assert partial.code == 0, "that is not a failure"
    assert partial.out.startswith("partial  1 files\n\nprinted\n  looked\n")
    # a plain value has the summary and knowledge of an agent
    write(own, {"plain.pym": '[{"path": "a.py", "line": 3}]\n'})
    plain = poor("tools", "run", "plain.pym", "--json", cwd=own).document
    assert plain["summary"] == "Executed plain: 1 items"
    assert plain["knowledge_delta"] == {"plain": "path=a.py;line=3"}


def test_a_file_runs_with_the_grants_it_is_given(poor: Remora, project: Path) -> None:
    write(project, {"w.pym": WRITES})
    before = tree(project)

    denied = poor("tools", "run", "w.pym", "--json", cwd=project)
    assert (denied.code, denied.document["error_kind"]) == (1, "denied")
    for _ in range(2):  # every run begins with the project as it is
        granted = poor("tools", "run", "w.pym", "--grant", "write_new_file", cwd=project)
        assert granted.code == 0
        assert "+++ b/src/new.py\n@@ -0,0 +1 @@\n+x = 1\n" in granted.out
    assert tree(project) == before


@pytest.mark.slow
def test_a_target_is_a_node_as_an_agent_is_given_it(poor: Remora, project: Path) -> None:
    target = "target=src/settings.py:__module__"

    listed = poor("tools", "run", "steps/run_linter", "--input", target, "--json", cwd=project)
    fixed = poor("tools", "run", "steps/apply_fix", "--input", "code=safe", target, cwd=project)

    assert listed.document["result"]["counts"] == {"F401": 2}
    assert fixed.code == 0
    assert "-import os\n-import sys\n" in fixed.out
    words = ("lint/fix_findings", "--input", "target=src/settings.py", "--json")  # a whole file
    assert poor("tools", "run", *words, cwd=project).document["result"]["fixed"] == {"F401": 2}


def test_what_fails_is_an_outcome_without_secrets(poor: Remora, project: Path) -> None:
    for source, kind in (("1 / 0", "runtime"), ("x: int = 'a'", "typing"), ("def (", "syntax")):
        write(project, {"t.pym": source + "\n"})
        done = poor("tools", "run", "t.pym", "--json", cwd=project)
        assert done.code == 1
        assert (done.document["outcome"], done.document["error_kind"]) == ("error", kind)
        assert done.document["error"].startswith("t.pym:1: ")
    secret = "ghp_" + "a1B2" * 9
    write(project, {"t.pym": f"print('{secret}')\nraise ValueError('{secret}')\n"})
    done = poor("tools", "run", "t.pym", "--json", cwd=project)
    assert done.document["error_kind"] == "runtime"
    assert secret not in done.out + done.err
    assert "<secret:" in done.document["error"], "as it would be recorded"


@pytest.mark.slow
def test_an_unknown_tool_or_bad_input_is_wrong_usage(poor: Remora, own: Path) -> None:
    node = "target=src/settings.py:no"
    for line, says, hint in (
        ("run cuont", "no tool 'cuont'", "count"),
        ("run run_linter", "2 tools", "own/run_linter, steps/run_linter"),
        ("run absent.pym", "absent.pym", ".pym"),
        ("check absent.pym", "absent.pym", ""),
        ("run count --input limit", "invalid input 'limit'", "NAME=VALUE"),
        ("run count --input limit=x", "limit: 'x' is not of type", "inputs of this tool: pattern"),
        ("run count --input other=1", "unknown argument: other", "inputs of this tool: pattern"),
        ("run count --grant list_file", "unknown host function 'list_file'", "list_files"),
        ("run steps/run_linter", "missing argument: target", "inputs of this tool: target"),
        (f"run steps/run_linter --input {node}", "no node", "PATH:QUALNAME"),
        ("run steps/run_linter --input target=../x.py:no", "`..`", "PATH:QUALNAME"),
    ):
        done = poor("tools", *line.split(), "--json", cwd=own)
        assert done.code == (1 if says.startswith("no tool") else 2), line
        assert says in done.error["message"]
        assert hint in done.error["hint"]
