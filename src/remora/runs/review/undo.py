"""Withdrawal of verdicts, so that change sets are pending again."""

from collections.abc import Sequence
from typing import Any

from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import display_name
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, own_record, read_run, select_jobs
from remora.runs.records.review_verdict import review_event
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.review.accept_and_reject import Verdicts
from remora.runs.review.damaged_changes import split_damaged
from remora.runs.review.journals import complete_journals
from remora.runs.review.revert import kept_hunks, revert_change_set
from remora.statuses import ACCEPTED, DECIDED, REOPENED


def undo(
    project: Project, run: str | RunView, nodes: Sequence[str], *, trusted: bool = False
) -> Verdicts:
    """Withdraw the last verdict on each change set of `nodes`, the latest change set first.

    What an accepted change set wrote is removed from the user's files, as in `revert`. If this is
    not possible, the verdict stays, and the result has a conflict. Raises whatever `accept` raises,
    NotFound if a node has no verdict, and UsageError if its change set was committed to a branch. As
    in `accept`, a later error is `error` of the result.
    """
    record, known = own_record(project, run, trusted=trusted)
    complete_journals(project)
    with open_run(project, record) as stream:
        view = read_run(project, stream.record, known)
        reopened: list[str] = []
        notes: list[str] = []
        conflicts: list[dict[str, Any]] = []
        error: RemoraError | None = None
        for job in reversed(_decided(view, nodes)):
            try:
                found = _undo_one(project, stream, job)
            except RemoraError as problem:
                if not reopened and not conflicts:
                    raise
                error = problem
                break
            conflicts += found
            notes += [] if found or job.review != ACCEPTED else kept_hunks(job)
            reopened += [] if found else [job.node_id]
        return Verdicts(
            run_id=stream.run_id,
            accepted=[],
            rejected=[],
            reopened=reopened,
            conflicts=conflicts,
            error=error,
            notes=notes,
            damaged=[],
            view=read_run(project, stream.record, view.jobs),
        )


def _decided(view: RunView, nodes: Sequence[str]) -> list[JobView]:
    """Return the jobs of `nodes` whose verdict can be withdrawn."""
    selected = select_jobs(view, nodes)
    found = [job for job in selected if job.review in DECIDED]
    for job in found:
        if job.branch:
            raise UsageError(
                f"{display_name(job.node_id)} was committed to the branch {job.branch}",
                hint="use `git revert` to undo the commit",
            )
    if not found:
        states = ", ".join(sorted({job.review or str(job.status) for job in selected}))
        raise NotFound(
            f"there is no verdict to undo ({states})",
            hint="`remora show RUN` lists the change sets of a run",
        )
    return found


def _undo_one(project: Project, stream: RunStream, job: JobView) -> list[dict[str, Any]]:
    """Withdraw a verdict. Return the conflicts, which are empty on success."""
    if job.review != ACCEPTED:
        stream.append(review_event(project, job, REOPENED))
        return []
    usable, broken = split_damaged(project, [job])
    if broken:
        raise broken[0]
    return revert_change_set(project, stream, *usable[0], REOPENED)
