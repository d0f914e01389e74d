"""The use cases as a Python program calls them, with the real embedded model."""

import os
from pathlib import Path

import pytest

import remora
from remora.errors import NotFound, UsageError
from remora.runs.project import Project
from tests.cli.conftest import models

__all__ = ["models"]

SOURCE = "import os\nimport re\n\n\ndef f():\n    return 1\n"
FIXED = "def f():\n    return 1\n"


@pytest.fixture
def project(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one finding of its module, and a home that has the weights."""
    cache = tmp_path / "home" / ".cache" / "remora"
    cache.mkdir(parents=True)
    (cache / "models").symlink_to(models)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text(SOURCE)
    monkeypatch.chdir(root)
    return root


def test_a_run_from_its_plan_to_the_files_and_back(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [job.node_id for job in remora.plan(operations=["lint"]).jobs] == [
        "node:a.py:__module__"
    ]
    result = remora.analyze(operations=["lint"], seed=7)
    (job,) = result.view.jobs
    assert (result.stopped, job.status, job.review.state) == ("", "verified", "pending")
    assert (project / "a.py").read_text() == SOURCE, "nothing changes before accept"

    done = remora.accept(result.run_id, every=True)
    assert (done.accepted, done.conflicts) == (["node:a.py:__module__"], [])
    assert (project / "a.py").read_text() == FIXED

    text = remora.render(remora.report(), "md")
    assert "2 of 2 findings fixed" in text
    assert remora.resume().view.status == "ended"
    assert remora.revert().reverted == ["node:a.py:__module__"]
    assert (project / "a.py").read_text() == SOURCE
    assert capfd.readouterr() == ("", ""), "nothing is printed"


def test_a_verdict_and_another_try(project: Path) -> None:
    result = remora.analyze("a.py", root=project, operations=["lint"])
    rejected = remora.reject("last", "a.py:__module__", feedback="keep re")
    assert rejected.rejected == ["node:a.py:__module__"]
    again = remora.retry("last", "a.py:__module__", feedback="keep re")
    (job,) = again.view.jobs
    assert (again.run_id, job.attempt) == (result.run_id, 2)
    forked = remora.fork(job.agent_id, 1)
    assert forked.job.attempt == 3


def test_outside_git_a_folder_is_what_to_analyze_not_the_project(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "b.py").write_text(SOURCE)
    assert {job.path for job in remora.plan("src", operations=["lint"]).jobs} == {"src/b.py"}
    result = remora.analyze("src", operations=["lint"])
    assert result.project.root == project
    assert remora.accept(every=True).accepted == ["node:src/b.py:__module__"]
    assert remora.report().run_id == result.run_id
    assert remora.revert().reverted == ["node:src/b.py:__module__"]
    assert not (project / "src" / ".agentfs").exists()


def test_every_exported_name_is_found() -> None:
    assert all(getattr(remora, name) is not None for name in remora.__all__)


def test_one_text_stands_for_a_list_of_one(project: Path) -> None:
    assert len(remora.plan("a.py", operations="lint").jobs) == 1
    remora.analyze("a.py", operations="lint")
    with pytest.raises(UsageError, match="'F4O1' is not a rule"):
        remora.accept(every=True, rules="F4O1")
    assert len(remora.accept(every=True, rules="F401", only_if="verified").accepted) == 1


def test_errors_are_typed_and_wrong_arguments_are_refused(project: Path) -> None:
    with pytest.raises(NotFound, match="no run"):
        remora.accept(every=True)
    with pytest.raises(UsageError, match="'lnt'"):
        remora.analyze(operations=["lnt"])
    with pytest.raises(UsageError, match="does not exist"):
        remora.plan("gone.py")
    with pytest.raises(UsageError, match="max_nodes must be at least 1, not -3"):
        remora.plan(max_nodes=-3)
    with pytest.raises(UsageError, match="max_turns must be at least 1, not 0"):
        remora.analyze(max_turns=0)
    assert not (project / ".agentfs").exists()


def selected(project: Project) -> object:
    return project.config.model_dump()["operations"]["lint"]["select"]


def test_an_open_project_keeps_its_settings(project: Path) -> None:
    done = remora.analyze("a.py", operations="lint", select="F401", concurrency=3)
    assert done.project.config.model.max_concurrency == 2, "the limit of a model server stays"
    assert selected(done.project) == ["F401"]
    again = remora.retry("last", "a.py:__module__", root=done.project)
    assert selected(again.project) == ["F401"]
    with pytest.raises(UsageError, match="unknown format 'pdf'"):
        remora.render(remora.report(), "pdf")  # type: ignore[arg-type]


def test_a_current_directory_that_is_gone(project: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(UsageError, match="the current directory no longer exists"):
            remora.plan()
        assert len(remora.plan(root=project, operations="lint").jobs) == 1
    finally:
        os.chdir(project)
