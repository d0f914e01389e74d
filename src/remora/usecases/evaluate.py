"""Compares arms on private copies of a project: by what people wrote, or by checks."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import NotFound, RemoraError
from remora.evals.arm_folder import ArmFolder
from remora.evals.arm_results import Report
from remora.evals.arms import Arm
from remora.evals.measurement import CopyRun, Measurement, locked_base
from remora.evals.targets import CheckedJobs, HiddenParts, PythonFiles, Targets, read_files
from remora.ids import LAST
from remora.runs.execution.run import RunRequest
from remora.runs.project import Project
from remora.runs.records.name_lookup import run_named
from remora.runs.records.run_record import RunRecord, read_own_record
from remora.sandbox.interpreters import find_interpreter
from remora.text import count
from remora.usecases.analyze.prepare_run import agents_for, refuse_whole_disk
from remora.usecases.analyze.resume_run import resume_recorded
from remora.usecases.analyze.session import Watching, open_session
from remora.usecases.review.verdicts import accept


class EvalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request for a comparison."""

    names: tuple[str, ...] = ()
    """Agents or operations; none means all that restore what people wrote."""
    arms: tuple[Arm, ...]
    number: int
    """The most targets of each."""
    seed: int = 0
    """The seed by which targets are chosen."""


def evaluate(
    invocation: Invocation,
    request: EvalRequest,
    watching: Watching,
    notify: Callable[[str], None] = lambda _line: None,
) -> Report:
    """Compare the arms of a request.

    The project's files are not changed.
    `watching` returns an observer of each run, and `notify` receives a line for each step. If the
    user stops the command, KeyboardInterrupt is raised, and the same request continues. Raises
    NotFound if a name is unknown, and Conflict if another process evaluates the project.
    """
    project = open_project(invocation)
    refuse_whole_disk(project.root)
    agents = agents_for(project, request.names or tuple(project.operations.restorers)).values()
    with locked_base(project) as base:
        files = read_files(project, base)
        run = _CopyRunner(invocation, project, watching, notify)
        measuring = Measurement(project, base, request.arms, run, notify)
        chosen = partial(_targets, invocation, project, request, files)
        found = [measuring.measure(agent, chosen(agent)) for agent in agents]
        return measuring.report(found, request.seed, files.notes)


def _targets(
    invocation: Invocation, project: Project, request: EvalRequest, files: PythonFiles, agent: Agent
) -> Targets:
    """Return the hidden parts of an operation that has any, and the jobs of another one."""
    restorer = project.operations.restorers.get(agent.definition.operation)
    if restorer is not None:
        return HiddenParts(agent, restorer, files, request.number, request.seed)
    nodes = _planned_nodes(invocation, agent, request.arms)
    return CheckedJobs(agent, nodes, request.number, request.seed)


def _planned_nodes(invocation: Invocation, agent: Agent, arms: Iterable[Arm]) -> set[str]:
    """Return the nodes on which any arm would work. Raises the last error if none can run."""
    wanted = RunRequest(operations=(agent.definition.name,))
    found, errors = list[frozenset[str]](), list[RemoraError]()
    for arm in arms:
        try:
            own = replace(invocation, flags={**invocation.flags, **arm.settings})
            with open_session(own, wanted, plan_only=True) as session:
                found += session.run.plan.worked_on.values()
        except RemoraError as error:
            errors.append(error)
    if errors and not found:
        raise errors[-1]
    return set[str]().union(*found)


@dataclass(frozen=True)
class _CopyRunner:
    """Runs operations on private copies of a project, with the project's settings."""

    invocation: Invocation
    project: Project
    watching: Watching
    notify: Callable[[str], None]

    def __call__(self, folder: ArmFolder, name: str, arm: Arm, targets: Targets) -> CopyRun:
        started = time.monotonic()
        invocation = self._invocation_for(folder, arm)
        copy = replace(open_project(invocation), cache=folder.cache, state=folder.state)
        record = _record(copy)
        begins = "started" if record is None else f"continued, {_jobs_done(record)}"
        self.notify(f"{name}, arm {arm.name}: {begins}")
        try:
            run_id = (
                self._start(invocation, copy, targets.request)
                if record is None
                else self._resume(invocation, copy, record)
            )
        except KeyboardInterrupt:
            done = _jobs_done(_record(copy))
            self.notify(f"{name}, arm {arm.name}: stopped, {done}; the same command continues")
            raise
        seconds = time.monotonic() - started
        verdicts = None if run_id is None else accept(run_id, every=True, root=copy)
        return CopyRun(
            tree=copy.root, verdicts=verdicts, seconds=seconds, resumed=record is not None
        )

    def _invocation_for(self, folder: ArmFolder, arm: Arm) -> Invocation:
        given = self.invocation.config_file
        flags = {
            **self.invocation.flags,
            **self._interpreter(),
            # the user agreed to them for the project, not for its copy
            "model.allow_addresses": self.project.config.model.allow_addresses,
            **({"hub.enabled": "auto"} if self.project.config.hub.enabled is True else {}),
            "gates.time_s": 0,
            **arm.settings,
        }
        return replace(
            self.invocation,
            folder=folder.tree,
            root=folder.tree,
            config_file=None if given is None else self.invocation.folder / given,
            flags=flags,
        )

    def _interpreter(self) -> dict[str, Any]:
        """Return the setting for the project's interpreter, which is not in the copy."""
        environ, root = self.invocation.environ, self.project.root
        active = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
        try:
            return {"python": str(find_interpreter(root, self.project.config.python, active))}
        except RemoraError:  # only operations that run the project's code need it
            return {}

    def _start(self, invocation: Invocation, project: Project, request: RunRequest) -> str | None:
        with open_session(invocation, request, project) as session:
            if not session.run.plan.jobs:
                return None
            done = session.execute(self.watching)
        _raise_if_stopped(done.stopped)
        return done.run_id

    def _resume(self, invocation: Invocation, project: Project, record: RunRecord) -> str:
        done = resume_recorded(invocation, project, record, watching=self.watching)
        _raise_if_stopped(done.stopped)
        return record.run_id


def _record(project: Project) -> RunRecord | None:
    """Return the record of the run that an earlier command started, or None.

    A run that was stopped before it recorded anything has none.
    """
    try:
        record = read_own_record(project, run_named(project.trace, LAST))
    except NotFound:
        return None
    return record if record.events else None


def _jobs_done(record: RunRecord | None) -> str:
    """Return how much of a run is done, such as `3 of 7 jobs are done`."""
    if record is None:
        return "no job is done"
    attempts = record.attempts
    left = len(attempts.unbegun) + len(attempts.unended)
    return f"{len(attempts.jobs) - left} of {count(len(attempts.jobs), 'job')} are done"


def _raise_if_stopped(stopped: str) -> None:
    if stopped:
        raise KeyboardInterrupt
