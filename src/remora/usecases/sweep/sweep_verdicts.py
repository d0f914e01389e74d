"""Accepts, rejects and reverts the changes of a sweep, one repository after the other."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import RemoraError, StreamDamaged
from remora.runs.project import Project
from remora.runs.records.results import RunView, own_run
from remora.runs.review.accept_and_reject import Verdicts
from remora.runs.review.recovery import recover
from remora.statuses import UNDECIDED
from remora.usecases import api
from remora.usecases.review.chosen import Chosen, accept_chosen, reject_chosen
from remora.usecases.sweep.sweep_records import RecordedSweep

OPERATION = "{operation}"
"""Replaced in the name of a branch, so that each operation has its own."""


class SweepPart(NamedTuple):
    """What was done in a repository, on `branch` if it is not None, or why nothing was done.

    `project` is None if it cannot be opened. `missing` is the folder of the repository if it does
    not exist.
    """

    name: str
    project: Project | None = None
    branch: str | None = None
    done: Verdicts | None = None
    error: RemoraError | None = None
    missing: Path | None = None


_Act = Callable[[str, Project, str], Iterator[SweepPart]]
"""Acts on a repository, given its name, its project and its run."""


def accept_sweep(
    invocation: Invocation, sweep: RecordedSweep, chosen: Chosen, git_branch: str | None
) -> Iterator[SweepPart]:
    """Accept the chosen change sets, and yield what was done.

    `git_branch` may contain `{operation}`. As in the
    other functions of this module, a repository that fails does not stop the others.
    """

    narrowed = replace(chosen, every=False)  # every change set is named

    def accept(name: str, project: Project, run_id: str) -> Iterator[SweepPart]:
        view = own_run(project, run_id, trusted=chosen.trust_run)
        yield from (SweepPart(name, error=StreamDamaged(str(job.error))) for job in view.damaged)
        for branch, agents in _parts(view, git_branch):
            try:
                done = accept_chosen(project, run_id, agents, narrowed, branch)
            except RemoraError as error:
                yield SweepPart(name, project, branch, error=error)
            else:
                yield SweepPart(name, project, branch, done)

    return _in_each(invocation, sweep, accept)


def reject_sweep(
    invocation: Invocation, sweep: RecordedSweep, chosen: Chosen, feedback: str | None
) -> Iterator[SweepPart]:
    """Reject the chosen change sets, and yield what was done."""

    def reject(name: str, project: Project, run_id: str) -> Iterator[SweepPart]:
        yield SweepPart(name, done=reject_chosen(project, run_id, (), chosen, feedback))

    return _in_each(invocation, sweep, reject)


def revert_sweep(
    invocation: Invocation, sweep: RecordedSweep, *, trust_run: bool
) -> Iterator[SweepPart]:
    """Undo all accepted change sets, and yield what was done."""

    def revert(name: str, project: Project, run_id: str) -> Iterator[SweepPart]:
        yield SweepPart(name, done=api.revert(run_id, root=project, trust_run=trust_run))

    return _in_each(invocation, sweep, revert)


def _in_each(invocation: Invocation, sweep: RecordedSweep, act: _Act) -> Iterator[SweepPart]:
    yield from (SweepPart(name, error=error) for name, error in sweep.unreadable())
    yield from (SweepPart(name, missing=root) for name, root in sweep.missing())
    for name, recorded, run_id in sweep.recorded():
        try:
            root = recorded.root
            own = Invocation(environ=invocation.environ, folder=root, root=root)
            project = open_project(own)
            recover(project)
            yield from act(name, project, run_id)
        except RemoraError as error:
            yield SweepPart(name, error=error)


def _parts(view: RunView, git_branch: str | None) -> Iterator[tuple[str | None, list[str]]]:
    """Yield each branch with the agents whose change sets go there, if there are any."""
    agents: dict[str | None, list[str]] = {}
    for job in view.jobs:
        if job.review in UNDECIDED:
            branch = git_branch and git_branch.replace(OPERATION, job.operation)
            agents.setdefault(branch, []).append(job.agent_id)
    yield from agents.items()
