"""Accepts the change sets of a sweep, one repository after the other."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remora.bootstrap import api
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.sweep.sweep_records import RecordedSweep
from remora.errors import RemoraError
from remora.runs.project import Project
from remora.runs.records.current_attempt import UNDECIDED
from remora.runs.records.results import own_run
from remora.runs.review.review import Verdicts

OPERATION = "{operation}"
"""Replaced in the name of a branch, so that each operation has its own."""


class AcceptedPart(NamedTuple):
    """What was accepted in a repository, onto `branch` if it is not None, or why nothing was."""

    name: str
    branch: str | None
    verdicts: Verdicts | None
    error: RemoraError | None = None


def accept_sweep(
    invocation: Invocation,
    sweep: RecordedSweep,
    *,
    rules: Iterable[str] = (),
    only_if: Iterable[str] = (),
    git_branch: str | None = None,
    trust_run: bool = False,
) -> Iterator[AcceptedPart]:
    """Accept all pending change sets that pass the filters, and yield what was done.

    A repository that fails does not stop the others. `git_branch` may contain `{operation}`.
    """
    rules, only_if = tuple(rules), tuple(only_if)
    for name, recorded, run_id in sweep.recorded():
        branch = git_branch
        try:
            root = recorded.root
            own = Invocation(environ=invocation.environ, folder=root, root=root)
            project = open_project(own)
            for branch, agents in _parts(project, run_id, git_branch, trust_run=trust_run):
                done = api.accept(
                    run_id,
                    *agents,
                    rules=rules,
                    only_if=only_if,
                    git_branch=branch,
                    root=project,
                    trust_run=trust_run,
                )
                yield AcceptedPart(name, branch, done)
        except RemoraError as error:
            yield AcceptedPart(name, branch, None, error)


def _parts(
    project: Project, run_id: str, git_branch: str | None, *, trust_run: bool
) -> Iterator[tuple[str | None, list[str]]]:
    """Yield each branch with the agents whose change sets go there, if there are any."""
    view = own_run(project, run_id, trusted=trust_run)
    agents: dict[str | None, list[str]] = {}
    for job in view.jobs:
        if job.review in UNDECIDED:
            branch = git_branch and git_branch.replace(OPERATION, job.operation)
            agents.setdefault(branch, []).append(job.agent_id)
    yield from agents.items()
