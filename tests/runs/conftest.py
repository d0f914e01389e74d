"""A user with a home and a project, who analyzes it with a model that follows a script."""

import asyncio
import dataclasses
import functools
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from remora.agents.job import AgentResult, Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.chat import ToolCall
from remora.errors import ModelError
from remora.ids import agent_id
from remora.memory.events import Event, Payload, payload
from remora.models.protocol import Model, Request
from remora.pym.script_problems import find_problems
from remora.runs.execution.run import PreparedRun, RunRequest
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_record import read_own_record
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.trace.verify.folder_check import verify_all
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.resume_run import Resumable, prepare_resume, run_remaining
from remora.usecases.analyze.session import execute_plan
from tests.offered_calls import offered
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
CLEAN = "def fine():\n    return 1\n"
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return 1\n'
CHOICE = "def guarded(x):\n    try:\n        return x()\n    except KeyError:\n        raise ValueError(1)\n"
RULES = 'lint.select = ["F", "B904", "E722"]\n'
SHOP = {"a.py": UNUSED, "b.py": CHOICE, "ruff.toml": RULES}
TEN_TURNS = "def guarded(x):\n" + "".join(
    f"    try:\n        x({n})\n    except KeyError:\n        raise ValueError({n})\n"
    for n in range(7)
)
"""A look at the findings, one at the code, seven choices, the end: see `eager`."""
ONE_BY_ONE = RunRequest(concurrency=1)
Answer = str | ToolCall | ModelError


def first(request: Request) -> str:
    """The first candidate."""
    return offered(request)[0]


def last(request: Request) -> str:
    """The last candidate: as a rule, to submit."""
    return offered(request)[-1]


def eager(request: Request) -> str:
    """Any candidate but the last, if there are more, as follows from what is shown."""
    calls = offered(request)
    return calls[Random(f"b{calls}").randrange(max(1, len(calls) - 1))]


class Watching:
    """Notes what a run tells as it goes."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.events: list[Event] = []

    def planned(self, run_id: str, plan: Plan) -> None:
        self.told.append(("planned", run_id))

    def began(self, job: Job) -> None:
        self.told.append(("began", job.agent_id))

    def event(self, job: Job, event: Event) -> None:
        assert event.agent_id == job.agent_id
        self.events.append(event)

    def ended(self, job: Job, result: AgentResult) -> None:
        self.told.append(("ended", job.agent_id))

    def judging(self, gate: str) -> None:
        self.told.append(("judging", gate))


class Desk:
    """One user's home, and one project."""

    def __init__(self, folder: Path, name: str = "project") -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.root = folder / name
        self.root.mkdir(parents=True)
        self.watching = Watching()
        self.newest = ""  # the id of the newest run

    # the project

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        for path, content in files.items():
            place = self.root / path
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())

    def git(self, *words: str) -> str:
        done = subprocess.run(
            [*GIT, *words], cwd=self.root, capture_output=True, check=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> None:
        """Put everything under version control."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
            self.git("config", "user.name", "Ann")
            self.git("config", "user.email", "ann@example.org")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "state")

    def tree(self) -> dict[str, bytes]:
        """The user's files, without version control and recordings."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.relative_to(self.root).parts[0] not in (".git", ".agentfs")
        }

    # what the user does

    def caller(self, **flags: Any) -> Invocation:
        return Invocation(
            environ={"HOME": str(self.home)},
            folder=self.root,
            root=self.root,
            flags={"runner.decisions": "model", **flags},
            operations=OPERATIONS,
        )

    @cached_property
    def project(self) -> Project:
        return open_project(self.caller())

    def come_back(self) -> None:
        """Another process of the same user: nothing is remembered but what lies on disk."""
        self.__dict__.pop("project", None)

    def prepare(self, request: RunRequest = RunRequest(), **flags: Any) -> PreparedRun:  # noqa: B008
        """Lint alone, where the request names no operation."""
        lint = dataclasses.replace(request, operations=request.operations or ("lint",))
        return prepare(self.caller(**flags), lint)

    def plan(self, request: RunRequest = RunRequest(), **flags: Any) -> Plan:  # noqa: B008
        prepared = self.prepare(request, **flags)
        prepared.close()
        return prepared.plan

    def analyze(
        self,
        answers: Iterable[Answer] | Callable[[Request], Answer] = first,
        *,
        request: RunRequest = RunRequest(concurrency=2),  # noqa: B008
        model: Model | None = None,
        run_id: str | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> str:
        """Analyze, and look that nothing of the user's was touched; the run's id."""
        before = self.tree()
        prepared = self.prepare(request)
        if run_id is not None:
            prepared = renamed(prepared, run_id)
        model = model or ScriptedModel(answers if callable(answers) else list(answers))
        try:
            asyncio.run(execute_plan(prepared, model, self.watching, clock))
        finally:
            prepared.close()
        assert self.tree() == before, "nothing is touched before it is accepted"
        self.newest = prepared.run_id
        return self.newest

    def resume(
        self,
        answers: Iterable[Answer] | Callable[[Request], Answer] = first,
        *,
        run_id: str | None = None,
        model: Model | None = None,
        only: frozenset[str] | None = None,
        **flags: Any,
    ) -> Resumable:
        """Go on with the newest run; a model is there if one is asked at all."""
        before = self.tree()
        name = run_id or self.newest
        caller = self.caller(**{key.replace("__", "."): value for key, value in flags.items()})
        project = open_project(caller)
        wanted = prepare_resume(caller, project, read_own_record(project, name), only=only)
        model = model or ScriptedModel(answers if callable(answers) else list(answers))
        models = dict.fromkeys(wanted.models, model)
        asyncio.run(run_remaining(wanted, models, self.watching, utc_now))
        assert self.tree() == before, "nothing is touched before it is accepted"
        return wanted

    # what is on record

    def view(self, run_id: str) -> RunView:
        return read_run(self.project, run_id)

    def job(self, run_id: str, name: str) -> JobView:
        (found,) = [job for job in self.view(run_id).jobs if job.node_id.endswith(f":{name}")]
        return found

    def run_events(self, run_id: str) -> list[Event]:
        return list(read_events(self.project.trace.run_stream(run_id)))

    def payloads(self, run_id: str, kind: type[Payload]) -> list[Any]:
        return [p for event in self.run_events(run_id) if isinstance(p := payload(event), kind)]

    def problems(self) -> list[str]:
        """What `trace verify --all` objects to."""
        found = [p for stream in verify_all(self.project.trace).streams for p in stream.problems]
        return [f"{p.line} {p.kind}: {p.detail}" for p in found]


def renamed(prepared: PreparedRun, run_id: str) -> PreparedRun:
    """The same plan under an id that is known beforehand."""
    jobs = tuple(
        replace(job, run_id=run_id, agent_id=agent_id(job.operation, run_id, job.node_id, 1))
        for job in prepared.plan.jobs
    )
    plan = replace(prepared.plan, jobs=jobs)
    return dataclasses.replace(prepared, run_id=run_id, plan=plan)


def ticking() -> Callable[[], datetime]:
    """A clock that goes on by one second each time it is read."""
    now = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

    def clock() -> datetime:
        nonlocal now
        now += timedelta(seconds=1)
        return now

    return clock


class Kept:
    """A desk as it is now, to begin from again in the same place: a run knows its root."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.newest = desk, desk.newest
        for folder in self._folders:
            shutil.copytree(folder, self._aside(folder), symlinks=True)

    def again(self) -> Desk:
        """The desk as it was when it was kept."""
        for folder in self._folders:
            shutil.rmtree(folder)
            shutil.copytree(self._aside(folder), folder, symlinks=True)
        self.desk.come_back()
        self.desk.watching, self.desk.newest = Watching(), self.newest
        return self.desk

    @property
    def _folders(self) -> tuple[Path, Path]:
        return self.desk.root, self.desk.home

    def _aside(self, folder: Path) -> Path:
        return self.desk.folder / f"kept-{folder.name}"


def analyzed(
    folder: Path,
    files: Mapping[str, str],
    answers: Callable[[Request], Answer] = first,
    request: RunRequest = ONE_BY_ONE,
) -> Kept:
    """A project after one run, for tests that begin where it ended."""
    desk = Desk(folder)
    desk.write(files)
    desk.analyze(answers, request=request)
    return Kept(desk)


looked_at = functools.cache(find_problems)
"""What is wrong with a script; the same text is the same each time."""


@pytest.fixture(autouse=True)
def _each_script_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remora.pym.script.find_problems", looked_at)


@pytest.fixture(scope="session")
def kept_shop(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(tmp_path_factory.mktemp("ran"), SHOP)


@pytest.fixture
def ran(kept_shop: Kept) -> Desk:
    """`SHOP` after a run, its three jobs one after the other: all change sets wait."""
    return kept_shop.again()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A user at an empty project."""
    return Desk(tmp_path)
