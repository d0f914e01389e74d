"""`analyze --json-lines` prints each event of a run when it happens."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from remora.runs.records.run_events import lines_schema
from tests.cli.conftest import Done, Remora, new_repository, tree, write
from tests.cli.run.test_interruption import FUNCTION

FILES = {
    "a.py": "import os\n",
    "b.py": "import re\n",
    "torn.py": "def (\n",
    "pyproject.toml": "[tool.ruff.lint]\nselect = ['F']\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", FILES)
    return new_repository(root)


def lines_of(done: Done) -> list[dict[str, Any]]:
    assert done.out.endswith("\n")
    lines = [json.loads(line) for line in done.out.splitlines()]
    validator = jsonschema.Draft202012Validator(lines_schema())
    for line in lines:
        validator.validate(line)
    return lines


def test_the_lines_tell_a_run_from_its_plan_to_its_document(shop: Path, poor: Remora) -> None:
    lines = lines_of(poor("analyze", "--json-lines", "-o", "lint", cwd=shop))
    kinds = [line["type"] for line in lines]
    assert kinds[:4] == ["run", "warning", "job_planned", "job_planned"]
    assert kinds[-1] == "result"
    assert lines[1]["path"] == "torn.py"
    first, *_ = (line["agent_id"] for line in lines if line["type"] == "job_planned")
    own = [line["type"] for line in lines if line.get("agent_id") == first]
    assert own == ["job_planned", "job_started", *["turn", "call"] * 2, "job_ended"]
    ended = [line for line in lines if line["type"] == "job_ended"]
    assert sorted(path for line in ended for path in line["files_changed"]) == ["a.py", "b.py"]
    assert {(line["status"], line["stop_reason"]) for line in ended} == {("verified", "verified")}
    result = lines[-1]
    assert result["document"] == poor("show", "--json", cwd=shop).document
    assert (result["exit_code"], result["stopped"]) == (0, "")
    assert result["document"]["run_id"] == lines[0]["run_id"]
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)


@pytest.mark.slow
def test_a_run_without_jobs_has_a_result(shop: Path, poor: Remora) -> None:
    lines = lines_of(poor("analyze", "--json-lines", "-o", "lint", "--select", "E9", cwd=shop))
    assert [line["type"] for line in lines] == ["run", "warning", "result"]
    assert lines[-1]["document"]["jobs"] == []
    planned = lines_of(poor("analyze", "--json-lines", "--dry-run", cwd=shop))
    assert planned[-1]["document"]["jobs"][0]["status"] == "planned"


def test_an_error_is_the_last_line(shop: Path, poor: Remora) -> None:
    done = poor("analyze", "gone.py", "--json-lines", cwd=shop)
    assert done.code == 2
    (line,) = lines_of(done)
    assert (line["type"], line["code"]) == ("error", "usage_error")
    assert line["message"] == "gone.py does not exist"
    both = poor("analyze", "--json-lines", "--json", cwd=shop)
    assert both.code == 2
    assert "cannot be combined" in both.err


@pytest.mark.slow
def test_a_line_arrives_before_the_run_has_ended(shop: Path, poor: Remora) -> None:
    long = {f"long{n}.py": "import m\n" + FUNCTION.format(n) for n in range(20)}
    process = poor.start("analyze", "--json-lines", cwd=write(shop, long))
    assert process.stdout is not None
    seen = [json.loads(process.stdout.readline())["type"]]
    while seen[-1] != "job_ended":
        seen.append(json.loads(process.stdout.readline())["type"])
    assert process.poll() is None
    process.communicate(timeout=50)


@pytest.mark.slow
def test_a_reader_that_leaves_interrupts_the_run(shop: Path, poor: Remora) -> None:
    """It can be resumed, and nothing is said of a bug."""
    long = {f"long{n}.py": "import m\n" + FUNCTION.format(n) for n in range(20)}
    before = tree(write(shop, long))
    process = poor.start("analyze", "--json-lines", cwd=shop)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["type"] == "run"
    process.stdout.close()
    assert process.stderr is not None
    assert process.wait(timeout=50) == 130
    with process.stderr:
        told = process.stderr.read()
    assert "stdout was closed: your files are unchanged" in told
    assert "Traceback" not in told
    assert "bug" not in told
    assert tree(shop) == before
    assert poor("analyze", "--resume", "last", cwd=shop).code == 0
