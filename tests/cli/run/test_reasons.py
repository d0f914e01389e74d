"""What was left, refused or unchanged has a reason everywhere, and plans count as results do."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, write

MIXED = """import os
import sys


def size(items):
    l = len(items)
    if items == None:
        return 0
    return l
"""
ONLY_LEFT = """def first(items):
    l = items[0]
    return l
"""
RULES = "[tool.ruff.lint]\nselect = ['F', 'E']\n"
LEFT = ["E741: has no fix", "E711: needs --unsafe-fixes"]
TOOL = '''"""Does something."""

from remora.pym import Input

target: dict = Input("target")

{"result": None, "summary": "...", "knowledge_delta": {}, "outcome": "error"}
'''
AGENT = """name: silent
operation: silent
description: Fails without a word.
goal: Fail
node_types: [module]
max_turns: 3
tools:
  - {name: fail, script: tools/fail.pym, description: Fail., grants: []}
candidates: {script: context/next.pym, grants: []}
"""
NEXT = '''"""Calls the tool."""

FAIL = {"tool": "fail", "args": {}, "reason": "the only one"}
{"result": [FAIL], "summary": "", "knowledge_delta": {}, "outcome": "success", "candidate_actions": [FAIL]}
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    files = {"a.py": MIXED, "b.py": ONLY_LEFT, "pyproject.toml": RULES, ".git/HEAD": ""}
    write(root, files)
    return root


def test_the_plan_and_the_result_have_one_count(shop: Path, poor: Remora) -> None:
    done = poor("analyze", "-o", "lint", cwd=shop)
    assert "lint 1 in 1 file, 2 of 5 findings to fix" in done.err
    told = "2 of 5 findings fixed in 1 file; 1 finding needs --unsafe-fixes; 2 findings have no fix (-v lists them)\n"
    assert told in done.out
    totals = poor("show", "--json", cwd=shop).document["totals"]
    (lint,) = totals["operations"]
    assert lint["findings"] == {"fixed": 2, "of": 5}


def test_findings_that_go_with_others_are_counted_as_such(shop: Path, poor: Remora) -> None:
    """Ruff has no fix for names that the statement imports from `typing`, but removes them."""
    write(shop, {"b.py": "def f():\n    from typing import Dict, List\n"})
    done = poor("analyze", "b.py", "-o", "lint", "--select", "F401,UP035", cwd=shop)
    assert "2 of 4 findings to fix" in done.err
    assert "4 of 4 findings fixed in 1 file\n" in done.out


@pytest.mark.slow
def test_what_is_left_has_its_reason(shop: Path, poor: Remora) -> None:
    poor("analyze", "-o", "lint", cwd=shop)
    (job,) = poor("show", "--json", cwd=shop).document["jobs"]
    assert job["left"] == LEFT
    listed = poor("show", "-v", cwd=shop).out
    assert all(f"left {text}" in listed for text in LEFT)
    assert "    b.py:2 E741: Ambiguous variable name: `l`" in listed  # it has no job
    report = json.loads(poor("report", "--format", "json", cwd=shop).out)
    assert {each["reason"] for each in report["jobs"][0]["left"]} == {
        "has no fix",
        "needs --unsafe-fixes",
    }
    assert "(needs --unsafe-fixes)" in poor("report", cwd=shop).out
    planned = poor("show", "--json", cwd=shop).document["not_planned"]
    assert {
        "reason": "has no fix",
        "finding": "b.py:2 E741: Ambiguous variable name: `l`",
    } in planned
    dry = poor("analyze", "-o", "lint", "--dry-run", "--json", cwd=shop).document
    assert dry["not_planned"] == planned


OWN = """name: own
operation: own
description: Waits for a model.
goal: Decide on {node_name}
node_types: [function]
needs: always
tools:
  - {name: look, script: look.pym, description: Look.}
verify: [parses]
"""
LOOK = '''"""Look."""

from remora.pym import Input

line: int = Input("line")
{"result": line, "summary": "", "knowledge_delta": {}, "outcome": "success"}
'''


def test_a_job_that_rules_cannot_decide_changes_nothing(shop: Path, poor: Remora) -> None:
    write(shop, {".remora/agents/own/agent.yaml": OWN, ".remora/agents/own/look.pym": LOOK})
    done = poor("analyze", "a.py", "-o", "own", "--json", cwd=shop)
    assert done.code == 0, done.err
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("no_change", "no_change")
    assert not job["error"]
    reason = "rules alone cannot decide the next step, and there is no model to ask"
    assert reason in job["why"]
    assert "no change" in poor("show", "-v", cwd=shop).out
    assert poor("trace", "verify", cwd=shop).code == 0


def test_an_error_without_a_message_says_so(shop: Path, poor: Remora) -> None:
    folder = shop / ".remora/agents/silent"
    write(folder, {"agent.yaml": AGENT, "tools/fail.pym": TOOL, "context/next.pym": NEXT})
    done = poor("analyze", "a.py", "-o", "silent", cwd=shop)
    assert done.code == 1, done.err
    why = poor("trace", "why", "a.py", cwd=shop).out
    assert why.startswith("fail failed at turn 1: without a message\n")
