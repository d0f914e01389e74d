"""A killed command leaves a frozen copy; the next one removes it, but never a live run's."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.runs.project import Project
from remora.runs.records.run_stream import open_run
from remora.runs.retention.unused_copies import remove_idle_bases


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    caller = Invocation(environ={"HOME": str(tmp_path)}, folder=root, root=root)
    return open_project(caller)


def _copy(project: Project, run_id: str, *, hours: float) -> Path:
    folder = project.cache / "bases" / run_id
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    then = (datetime.now(UTC) - timedelta(hours=hours)).timestamp()
    os.utime(folder, (then, then))
    return folder


def test_old_copies_of_no_run_go_and_young_ones_stay(project: Project) -> None:
    old = _copy(project, "20260101-000000-aaaaaa", hours=3)
    young = _copy(project, "20260101-000000-bbbbbb", hours=0.5)
    remove_idle_bases(project, datetime.now(UTC))
    assert young.exists()
    assert not old.exists()


def test_the_copy_of_a_run_that_continues_stays(project: Project) -> None:
    long = _copy(project, "20260101-000000-cccccc", hours=30)
    project.trace.create()
    with open_run(project, long.name, lambda: datetime.now(UTC)):
        remove_idle_bases(project, datetime.now(UTC))
        assert long.exists()
    remove_idle_bases(project, datetime.now(UTC))
    assert not long.exists()


def test_nothing_to_remove_is_not_an_error(project: Project) -> None:
    remove_idle_bases(project, datetime.now(UTC))
