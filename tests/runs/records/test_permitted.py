"""What a run with unsafe fixes leaves does not need the permission that it has."""

from pathlib import Path

from remora.operations.base import NO_FIX, NOT_KEPT
from remora.runs.execution.run import RunRequest
from remora.runs.records.results import read_run
from remora.runs.report.job_findings import lint_left
from tests.runs.conftest import analyzed

SOURCE = """\
from __future__ import annotations

from typing import Type as T


def make(kind: T[int]) -> "list[int]":
    return [kind("1")]


l = 1
"""
"""The unsafe fix of `T` would leave an import that nobody uses, and ruff does not remove it."""


def test_an_unsafe_fix_that_is_not_kept_is_told_so_also_from_a_short_view(tmp_path: Path) -> None:
    settings = 'target-version = "py38"\nlint.select = ["F", "UP", "E741"]\n'
    desk = analyzed(tmp_path, {"pkg/__init__.py": SOURCE, "ruff.toml": settings}).again()
    run_id = desk.analyze(request=RunRequest(unsafe_fixes=True))
    short = read_run(desk.project, run_id, details=False)
    again = read_run(desk.project, run_id, short.jobs, details=False)
    for view in (read_run(desk.project, run_id), short, again):
        left = sorted((reason, number) for reason, number, _ in lint_left(view))
        assert left == [(NOT_KEPT, 1), (NO_FIX, 1)]
