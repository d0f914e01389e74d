"""Projects with planted changes, and what is left of them once the gates have judged them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import remora
from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import Gates
from remora.runs.records.results import RunView
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import write
from tests.judges.gates.plant.operation import OPERATION, PLANTS

Plants = Mapping[str, list[tuple[str, str]]]


class Judged:
    """A run whose proposals were judged."""

    def __init__(self, root: Path, view: RunView) -> None:
        self.root = root
        self.view = view

    @property
    def gates(self) -> Gates:
        assert self.view.gates is not None
        return self.view.gates

    @property
    def missing(self) -> dict[str, str]:
        return {result.name: result.missing for result in self.gates.results if result.missing}

    @property
    def reasons(self) -> list[str]:
        return [reason for job in self.view.jobs for reason in job.proposal.reasons]

    def accepted(self) -> dict[str, str]:
        """Accept everything that is left, and return the files that have changed, as text."""
        before = self._texts()
        project = open_project(invocation_for(self.root, {}, BUILT_IN | OPERATION))
        remora.accept(self.view.run_id, every=True, root=project)
        return {path: text for path, text in self._texts().items() if text != before.get(path)}

    def _texts(self) -> dict[str, str]:
        files = (path for path in self.root.rglob("*.py*") if ".agentfs" not in path.parts)
        return {path.relative_to(self.root).as_posix(): path.read_text() for path in files}


Judge = Callable[[Mapping[str, str], Plants], Judged]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without an environment. Returns the root of the project."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "project"


@pytest.fixture
def judge(user: Path) -> Judge:
    """Run the operation that makes planted changes, and judge them."""

    def judged(files: Mapping[str, str], plants: Plants) -> Judged:
        write(user, {**files, PLANTS: json.dumps(plants)})
        known = BUILT_IN | OPERATION
        done = remora.analyze(root=user, operations=["plant"], known=known)
        return Judged(user, done.view)

    return judged


@pytest.fixture
def active(user: Path, monkeypatch: pytest.MonkeyPatch, plain_python: ProjectPython) -> Path:
    """A user in an environment with pytest."""
    monkeypatch.setenv("VIRTUAL_ENV", str(plain_python.python.parents[1]))
    return user
