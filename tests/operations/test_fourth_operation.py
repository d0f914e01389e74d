"""A fourth operation from a folder outside the package: nothing else is touched."""

import asyncio
import importlib.util
import shutil
from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.operations import BUILT_IN
from remora.bootstrap.prepare_run import prepare
from remora.bootstrap.run_factory import execute_plan
from remora.models.scripted import ScriptedModel
from remora.operations.base import Operation
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project
from remora.runs.records.results import read_run, run_document
from remora.runs.report.markdown import markdown
from remora.runs.report.report_builder import make_report
from remora.runs.review.review import accept
from remora.trace.stream.line_builder import utc_now
from remora.trace.verify.folder_check import verify_all
from tests.runs.conftest import Watching

SOURCE = Path(__file__).with_name("license_header")
HEADER = "# SPDX-License-Identifier: MIT\n"


@pytest.fixture
def operation(tmp_path: Path) -> Operation:
    """As a user would have it: a folder of their own, imported from there."""
    folder = tmp_path / "elsewhere" / "license_header"
    shutil.copytree(SOURCE, folder)
    spec = importlib.util.spec_from_file_location("license_header", folder / "operation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Operation = module.OPERATION
    assert found.folder == folder
    return found


@pytest.fixture
def ran(tmp_path: Path, operation: Operation) -> tuple[Project, str]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "bare.py").write_text("def f():\n    return 1\n")
    (root / "done.py").write_text(f"{HEADER}\nX = 1\n")
    caller = Invocation(
        environ={"HOME": str(tmp_path / "home")},
        folder=root,
        root=root,
        operations=BUILT_IN | operation,
    )
    wish = RunRequest(operations=("license-header",))
    prepared = prepare(caller, wish)
    try:
        asyncio.run(execute_plan(prepared, ScriptedModel([]), wish, Watching(), utc_now))
    finally:
        prepared.close()
    return open_project(caller), prepared.run_id


def test_fourth_operation_plans_runs_verifies_counts_and_is_accepted(
    ran: tuple[Project, str],
) -> None:
    project, run_id = ran
    view = read_run(project, run_id)
    assert [(job.node_id, job.status) for job in view.jobs] == [
        ("node:bare.py:__module__", "submitted")
    ]
    (total,) = run_document(project, view)["totals"]["operations"]
    assert total["license_headers"] == {"added": 1, "of": 1}
    text = markdown(make_report(project, view))
    assert "1 of 1 license headers added" in text
    assert "license header added" in text
    accept(project, run_id, (), every=True)
    assert (project.root / "bare.py").read_text() == f"{HEADER}def f():\n    return 1\n"
    assert (project.root / "done.py").read_text() == f"{HEADER}\nX = 1\n"
    assert all(stream.ok for stream in verify_all(project.trace).streams)


def test_a_name_that_is_taken_is_refused(operation: Operation) -> None:
    with pytest.raises(ValueError, match="'license-header' is defined twice"):
        _ = BUILT_IN | operation | operation
