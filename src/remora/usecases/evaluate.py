"""Measures operations and models on a project, by letting them restore what people wrote."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import NotFound, RemoraError, UsageError
from remora.evals.arms import Arm
from remora.evals.finished_run import CopyRun
from remora.evals.measure import RestoreRequest, measure
from remora.evals.measured_arms import measured_models
from remora.evals.slot_results import RestoreReport
from remora.evals.work_folder import ArmFolder
from remora.ids import LAST, escape_path, node_key
from remora.operations.base import Operations
from remora.operations.restorer import Slot
from remora.runs.execution.run import RunObserver
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project
from remora.runs.records.measured_models import keep_measured
from remora.runs.records.name_lookup import run_named
from remora.runs.records.run_record import RunRecord, read_own_record
from remora.sandbox.interpreters import find_interpreter
from remora.text import count
from remora.usecases.analyze.prepare_run import prepare, refuse_whole_disk
from remora.usecases.analyze.resume_run import connect_wanted, prepare_resume
from remora.usecases.api import continue_run, execute

Watching = Callable[[], AbstractContextManager[RunObserver]]


def eval_restore(
    invocation: Invocation,
    request: RestoreRequest,
    watching: Watching,
    notify: Callable[[str], None] = lambda _line: None,
) -> RestoreReport:
    """Measure the operations of a request, or all that need not run the project's code.

    The project's files are not changed, and the figures of models are kept in its state folder.
    `watching` returns an observer of each run, and `notify`
    receives a line for each step. If the user stops the command, KeyboardInterrupt is raised, and
    the same request continues. Raises UsageError if an operation cannot be measured.
    """
    project = open_project(invocation)
    refuse_whole_disk(project.root)
    names = _operations(project.operations, request.operations)
    request = RestoreRequest(
        operations=names,
        arms=request.arms,
        slots=request.slots,
        seed=request.seed,
        fresh=request.fresh,
    )
    run = _CopyRunner(invocation, project, watching, notify)
    report = measure(project, request, run, notify)
    today = datetime.now(UTC).date().isoformat()
    found = measured_models(report, request.arms, project.config, today)
    keep_measured(project.state, tuple(found))
    return report


def _operations(known: Operations, names: Sequence[str]) -> tuple[str, ...]:
    able = known.restorers
    unable = [name for name in names if name not in able]
    if unable:
        raise UsageError(
            f"operation {unable[0]!r} cannot restore what people wrote",
            hint=f"use one of: {', '.join(able)}",
        )
    return tuple(dict.fromkeys(names or able))


class _CopyRunner:
    """Runs operations on private copies of a project, with the project's settings."""

    def __init__(
        self,
        invocation: Invocation,
        project: Project,
        watching: Watching,
        notify: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._invocation = invocation
        self._project = project
        self._watching = watching
        self._notify = notify

    def __call__(
        self, folder: ArmFolder, operation: str, arm: Arm, slots: Sequence[Slot]
    ) -> CopyRun:
        started = time.monotonic()
        invocation = self._invocation_for(folder, operation, arm)
        copy = replace(open_project(invocation), cache=folder.cache, state=folder.state)
        record = _record(copy)
        begins = "started" if record is None else f"continued, {_jobs_done(record)}"
        self._notify(f"{operation}, arm {arm.name}: {begins}")
        try:
            run_id = (
                self._start(invocation, copy, self._run_request(operation, slots))
                if record is None
                else self._resume(invocation, copy, record)
            )
        except KeyboardInterrupt:
            done = _jobs_done(_record(copy))
            self._notify(
                f"{operation}, arm {arm.name}: stopped, {done}; the same command continues"
            )
            raise
        return CopyRun(
            project=copy,
            run_id=run_id,
            seconds=time.monotonic() - started,
            resumed=record is not None,
        )

    def _invocation_for(self, folder: ArmFolder, operation: str, arm: Arm) -> Invocation:
        given = self._invocation.config_file
        flags = {
            **self._invocation.flags,
            **self._interpreter(),
            # the user agreed to them for the project, not for its copy
            "model.allow_addresses": self._project.config.model.allow_addresses,
            **({"hub.enabled": "auto"} if self._project.config.hub.enabled is True else {}),
            **arm.settings,
            **self._project.operations.restorers[operation].settings,
        }
        return replace(
            self._invocation,
            folder=folder.tree,
            root=folder.tree,
            config_file=None if given is None else self._invocation.folder / given,
            flags=flags,
        )

    def _interpreter(self) -> dict[str, Any]:
        """Return the setting for the project's interpreter, which is not in the copy."""
        environ = self._invocation.environ
        active = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
        try:
            return {
                "python": str(
                    find_interpreter(self._project.root, self._project.config.python, active)
                )
            }
        except RemoraError:  # only operations that run the project's code need it
            return {}

    def _run_request(self, name: str, slots: Sequence[Slot]) -> RunRequest:
        """Return the arguments of a run on all files with slots.

        Models that write are only asked about the functions and classes that have slots.
        """
        (operation,) = (each for each in self._project.operations.all if each.name == name)
        paths = sorted({slot.path for slot in slots})
        keys = frozenset(node_key(escape_path(slot.path), slot.qualname) for slot in slots)
        return RunRequest(
            paths=tuple(map(Path, paths)),
            operations=(name,),
            keys=keys if operation.asks_writers else None,
        )

    def _start(self, invocation: Invocation, project: Project, request: RunRequest) -> str | None:
        with closing(prepare(invocation, request, project)) as run:
            if not run.plan.jobs:
                return None
            done = execute(invocation, run, watching=self._watching)
        _raise_if_stopped(done.stopped)
        return done.run_id

    def _resume(self, invocation: Invocation, project: Project, record: RunRecord) -> str:
        wanted = prepare_resume(invocation, project, record)
        if not wanted.nothing_to_do:
            models = connect_wanted(invocation, wanted)
            with self._watching() as observer:
                _raise_if_stopped(continue_run(wanted, models, observer).stopped)
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
    attempts = record.attempts()
    left = len(attempts.unbegun) + len(attempts.unended)
    return f"{len(attempts.jobs) - left} of {count(len(attempts.jobs), 'job')} are done"


def _raise_if_stopped(stopped: str) -> None:
    if stopped:
        raise KeyboardInterrupt
