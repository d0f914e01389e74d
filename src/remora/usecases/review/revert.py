"""Removal of accepted changes, and withdrawal of verdicts, as Python functions.

The arguments have the same meaning as in `remora.usecases.api`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from remora.bootstrap.open_project import open_with
from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import LAST, NodeKey, display_name
from remora.runs.project import Project
from remora.runs.records.change_set_files import reverse_patches
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named, read_run, select_jobs
from remora.runs.records.review_verdict import review_event
from remora.runs.records.run_stream import RunStream
from remora.runs.review.accepted_changes import Verdicts, opened_review
from remora.runs.review.apply_changes import write_change_set
from remora.runs.review.journals import details
from remora.runs.review.ready_changes import ReadyChange, split_damaged, written_change
from remora.runs.review.recheck import broken_by_merge
from remora.runs.review.repeats import forget_refused, refused_by
from remora.runs.review.selection import named_nodes
from remora.statuses import ACCEPTED, DECIDED, REJECTED, REOPENED, REVERTED
from remora.text import count, some_of
from remora.workspaces.apply.merge_change_set import prepare_changes

_NAMED = 5
"""Maximum number of nodes listed in an error."""


def revert(
    run: str = LAST, *nodes: str, root: str | Path | Project | None = None, trust_run: bool = False
) -> Verdicts:
    """Undo accepted changes in the project's files.

    Without `nodes`, all accepted changes of the run are undone. If nothing of `nodes` was accepted,
    withdraw their rejections. Change sets are reverted one at a time. Later edits are kept. If this
    is not possible, the change set is still accepted, and the result has a conflict. Raises whatever
    `accept` raises, NotFound if a node has no accepted change set, and UsageError if its change set
    was committed to a branch or covers other nodes, too.
    """
    project = open_with(root)[1]
    with opened_review(project, run, trusted=trust_run) as (stream, view):
        named = [job for name in nodes for job in jobs_named(view, name)]
        rejected = [job for job in named if job.review.verdict == REJECTED]
        if not rejected or any(job.review.is_written for job in named):
            return _take_back(project, stream, view, _find_accepted(view, nodes), REVERTED)
    return undo(run, *nodes, root=project, trust_run=trust_run)


def undo(
    run: str | RunView,
    *nodes: str,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> Verdicts:
    """Withdraw the last verdict on each change set of `nodes`, so that it is pending again.

    The latest change set is first. What an accepted change set wrote is removed from the project's
    files, as in `revert`. What other runs rejected because of the verdict is withdrawn. Raises
    whatever `accept` raises, NotFound if a node has no verdict, and UsageError if its change set was
    committed to a branch.
    """
    project = open_with(root)[1]
    with opened_review(project, run, trusted=trust_run) as (stream, view):
        jobs = _find_decided(view, nodes)
        refused = refused_by(project, view.run_id, jobs)
        done = _take_back(project, stream, view, jobs, REOPENED)
    forget_refused(project, view.run_id, refused)
    return done


def _take_back(
    project: Project, stream: RunStream, view: RunView, jobs: Sequence[JobView], verdict: str
) -> Verdicts:
    """Record `verdict` on each job, the last one first, and remove what it wrote."""
    usable, broken = split_damaged(project, reversed(jobs), written_change)
    if broken and not usable:
        raise broken[0]
    done: list[str] = []
    notes: list[str] = []
    conflicts: list[dict[str, Any]] = []
    error: RemoraError | None = None
    for change in usable:
        try:
            found = revert_change_set(project, stream, change, verdict)
        except RemoraError as problem:
            if not done and not conflicts:
                raise
            error = problem
            break
        conflicts += found
        if not found:
            done.append(change.job.node_id)
            notes += _kept_hunks(change.job)
    return Verdicts(
        run_id=stream.run_id,
        reverted=done if verdict == REVERTED else [],
        reopened=done if verdict == REOPENED else [],
        conflicts=conflicts,
        damaged=[f"{error.message}; {error.hint}" for error in broken],
        notes=notes,
        view=read_run(project, stream.record, view.jobs),
        error=error,
    )


def _kept_hunks(job: JobView) -> list[str]:
    """Return a message if taking back an accepted change set keeps some of its hunks."""
    if not job.review.present:
        return []
    hunks = count(len(job.review.present), "hunk")
    name = display_name(job.node_id)
    return [f"{name}: not removed: {hunks} that your files contained before"]


def _find_accepted(view: RunView, nodes: Sequence[str]) -> list[JobView]:
    """Return the jobs with accepted change sets, in the order in which the jobs began."""
    there = [job for job in view.jobs if job.review.is_written and not job.review.branch]
    if not nodes:
        return there
    selected = {job.agent_id for name in nodes for job in _find_named(view, name, there)}
    found = [job for job in there if job.agent_id in selected]
    for job in found:
        if named_nodes(job, nodes):
            covered = some_of([display_name(NodeKey(key)) for key in job.nodes or ()], _NAMED)
            raise UsageError(
                f"the {job.operation} change of {display_name(job.node_id)} covers {covered}",
                hint="name all of them, or the file, to revert it as a whole",
            )
    return found


def _find_named(view: RunView, name: str, there: Sequence[JobView]) -> list[JobView]:
    named = jobs_named(view, name)
    found = [job for job in named if job in there]
    branch = next((job.review.branch for job in named if job.review.branch), None)
    if not found and branch:
        raise UsageError(
            f"{name} was committed to the branch {branch}, not to your files",
            hint="use `git revert` to undo the commit",
        )
    if not found:
        states = ", ".join(sorted({job.state_text for job in named}))
        known = ", ".join(display_name(job.node_id) for job in there)
        raise NotFound(
            f"{name} has no accepted change ({states})",
            hint=f"accepted: {known}" if known else "no change of this run has been accepted",
        )
    return found


def _find_decided(view: RunView, nodes: Sequence[str]) -> list[JobView]:
    """Return the jobs of `nodes` whose verdict can be withdrawn."""
    selected = select_jobs(view, nodes)
    verdicts = [job for job in selected if job.review.verdict]
    found = [job for job in verdicts if job.review.state in DECIDED or job.review.left]
    for job in found:
        if job.review.branch:
            raise UsageError(
                f"{display_name(job.node_id)} was committed to the branch {job.review.branch}",
                hint="use `git revert` to undo the commit",
            )
    if not found:
        states = ", ".join(sorted({job.state_text for job in selected}))
        raise NotFound(
            f"there is no verdict to undo ({states})",
            hint="`remora show RUN` lists the changes of a run",
        )
    return found


def revert_change_set(
    project: Project, stream: RunStream, change: ReadyChange, verdict: str
) -> list[dict[str, Any]]:
    """Remove an accepted change from the user's files. Return the conflicts, if any.

    The reversed change is merged and checked. Then the journal is written, `verdict` is recorded,
    and the files are replaced.
    """
    job = change.job
    review = review_event(project, job, verdict)
    if not job.review.is_written:
        stream.append(review)
        return []
    prepared = prepare_changes(project.root, reverse_patches(change.patches))
    before = prepared.conflicts or broken_by_merge(prepared)
    if before:  # it is still accepted, so no verdict is recorded
        return details(job.node_id, before)
    otherwise = msgspec.structs.replace(review, verdict=ACCEPTED, left=job.review.left)
    return write_change_set(project, stream, job.node_id, prepared, review, otherwise)
