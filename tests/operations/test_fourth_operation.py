"""A fourth operation from a folder outside the package: nothing else is touched."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

import remora
from remora.bootstrap.operations import BUILT_IN
from remora.operations.base import Operation
from remora.runs.records.results import run_document
from remora.trace.verify.folder_check import verify_all

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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a model: rules decide."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    (root / "bare.py").write_text("def f():\n    return 1\n")
    (root / "done.py").write_text(f"{HEADER}\nX = 1\n")
    return root


def test_fourth_operation_plans_runs_verifies_counts_and_is_accepted(
    project: Path, operation: Operation
) -> None:
    known, wanted = BUILT_IN | operation, ["license-header"]
    planned = remora.plan(root=project, operations=wanted, known=known)
    assert [job.node_id for job in planned.jobs] == ["node:bare.py:__module__"]

    done = remora.analyze(root=project, operations=wanted, known=known)
    assert [(job.node_id, job.status) for job in done.view.jobs] == [
        ("node:bare.py:__module__", "verified")
    ]
    (total,) = run_document(done.project, done.view)["totals"]["operations"]
    assert total["license_headers"] == {"added": 1, "of": 1}
    text = remora.render(remora.report(done.run_id, root=done.project))
    assert "1 of 1 license headers added" in text
    assert "adds a license header" in text

    again = remora.retry(done.run_id, "bare.py:__module__", root=done.project)
    assert [job.attempt for job in again.view.jobs] == [2]
    assert remora.accept(done.run_id, every=True, root=done.project).conflicts == []
    assert (project / "bare.py").read_text() == f"{HEADER}def f():\n    return 1\n"
    assert (project / "done.py").read_text() == f"{HEADER}\nX = 1\n"
    assert all(stream.ok for stream in verify_all(done.project.trace).streams)


def test_a_name_that_is_taken_is_refused(operation: Operation) -> None:
    with pytest.raises(ValueError, match="the operation 'license-header' is defined twice"):
        _ = BUILT_IN | operation | operation
    twice = BUILT_IN | operation | replace(operation, name="again")
    for kind in ("need", "check", "host function"):
        names = [*getattr(BUILT_IN, f"{kind.replace(' ', '_')}s")]
        assert len(names) == len({*names})
        with pytest.raises(ValueError, match=f"the {kind} '.*' is defined twice"):
            list(getattr(twice, f"{kind.replace(' ', '_')}s"))
