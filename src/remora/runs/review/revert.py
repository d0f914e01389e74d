"""The `revert` command, which removes accepted change sets from the user's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import display_name
from remora.memory.events import Head
from remora.runs.project import Project
from remora.runs.records.change_set_files import reverse_patches
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named, read_run
from remora.runs.records.review_verdict import review_event
from remora.runs.records.run_record import read_own_record
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.review.apply_changes import write_change_set
from remora.runs.review.damaged_changes import split_damaged
from remora.runs.review.journals import complete_journals, details
from remora.runs.review.merges import removed_from_others
from remora.runs.review.recheck import broken_by_merge
from remora.statuses import ACCEPTED, REVERTED
from remora.text import count
from remora.workspaces.apply.transaction import FilePatch
from remora.workspaces.hunks import without_hunks


@dataclass(frozen=True, kw_only=True)
class Reverted:
    """Result of a revert.

    Each item of `conflicts` is `{node_id, path, detail}`, and its change set is still accepted.
    `damaged` contains messages about streams and contents that could not be used. `notes` contains
    messages about hunks that were kept. `branches` are
    those to which change sets of the run were committed; these are never reverted. `error` is set
    if the revert ended early.
    """

    run_id: str
    reverted: list[str]
    conflicts: list[dict[str, Any]]
    damaged: list[str]
    notes: list[str]
    head: Head
    branches: Sequence[str]
    error: RemoraError | None


def revert(
    project: Project, run_id: str, nodes: Sequence[str], *, trusted: bool = False
) -> Reverted:
    """Revert the accepted change sets of `nodes`, or of the whole run if `nodes` is empty.

    Change sets are reverted one at a time. Edits made after a change set was accepted are kept. If
    this is not possible, the change set is not reverted. Raises whatever `accept` raises, NotFound
    if a node has no accepted change set, and UsageError if its change set was committed to a
    branch. As in `accept`, a later error is `error` of the result.
    """
    record = read_own_record(project, run_id, trusted=trusted)
    complete_journals(project)
    done: list[str] = []
    notes: list[str] = []
    conflicts: list[dict[str, Any]] = []
    error: RemoraError | None = None
    with open_run(project, record) as stream:
        view = read_run(project, stream.record)
        usable, broken = split_damaged(project, reversed(_accepted(view, nodes)))
        if broken and not usable:
            raise broken[0]
        for job, patches in usable:
            try:
                found = revert_change_set(project, stream, job, patches, REVERTED)
            except RemoraError as problem:
                if not done and not conflicts:
                    raise
                error = problem
                break
            conflicts += found
            if not found:
                done.append(job.node_id)
                notes += kept_hunks(job)
        return Reverted(
            run_id=run_id,
            reverted=done,
            conflicts=conflicts,
            damaged=[f"{error.message}; {error.hint}" for error in broken],
            notes=notes,
            head=stream.head,
            branches=sorted({job.branch for job in view.jobs if job.branch}),
            error=error,
        )


def kept_hunks(job: JobView) -> list[str]:
    """Return a message if taking back an accepted change set keeps some of its hunks."""
    if not job.present:
        return []
    hunks = count(len(job.present), "hunk")
    name = display_name(job.node_id)
    return [f"{name}: not removed: {hunks} that your files contained before"]


def _accepted(view: RunView, nodes: Sequence[str]) -> list[JobView]:
    """Return the jobs with accepted change sets, in the order in which the jobs began."""
    there = [job for job in view.jobs if job.review == ACCEPTED and not job.branch]
    if not nodes:
        return there
    selected = {job.agent_id for name in nodes for job in _named(view, name, there)}
    return [job for job in there if job.agent_id in selected]


def _named(view: RunView, name: str, there: Sequence[JobView]) -> list[JobView]:
    named = jobs_named(view, name)
    found = [job for job in named if job in there]
    branch = next((job.branch for job in named if job.branch), None)
    if not found and branch:
        raise UsageError(
            f"{name} was committed to the branch {branch}, not to your files",
            hint="use `git revert` to undo the commit",
        )
    if not found:
        states = ", ".join(sorted({job.review or str(job.status) for job in named}))
        known = ", ".join(display_name(job.node_id) for job in there)
        raise NotFound(
            f"{name} has no accepted change set ({states})",
            hint=f"accepted: {known}" if known else "no change set of this run has been accepted",
        )
    return found


def revert_change_set(
    project: Project, stream: RunStream, job: JobView, patches: list[FilePatch], verdict: str
) -> list[dict[str, Any]]:
    """Remove an accepted change set from the user's files. Return the conflicts, if any.

    The reversed change set is merged and checked. Then the journal is written, `verdict` is
    recorded, and the files are replaced. Hunks that were in the files before are kept.
    """
    written = without_hunks(patches, job.present)
    prepared = removed_from_others(project, reverse_patches(written))
    before = prepared.conflicts or broken_by_merge(prepared)
    if before:  # it is still accepted, so no verdict is recorded
        return details(job.node_id, before)
    review = msgspec.structs.replace(
        review_event(project, job, verdict), written=job.written, present=job.present
    )
    otherwise = msgspec.structs.replace(review, verdict=ACCEPTED)
    return write_change_set(project, stream, job.node_id, prepared, review, otherwise)
