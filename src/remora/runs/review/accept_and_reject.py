"""Acceptance and rejection of change sets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from remora.errors import RemoraError
from remora.hub.observed_links import Observation
from remora.ids import display_name
from remora.memory.events import Head, Written
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, own_record, read_run
from remora.runs.records.review_verdict import checked_feedback, review_event
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.review.apply_changes import objections, write_change_set
from remora.runs.review.damaged_changes import (
    ReadyChange,
    split_damaged,
    unreadable_streams,
)
from remora.runs.review.filters import ALL, ReviewFilter, apply_filter
from remora.runs.review.journals import complete_journals, details
from remora.runs.review.merges import merged_with_others
from remora.runs.review.observed_tests import observed_runs
from remora.runs.review.recheck import Recheck, users_tree
from remora.runs.review.repeats import hunk_digests
from remora.runs.review.selection import choose_pending
from remora.statuses import ACCEPTED, CONFLICT, REJECTED
from remora.text import count
from remora.workspaces.apply.transaction import FilePatch, prepare_changes
from remora.workspaces.hunks import present_hunks

AcceptChange = Callable[[JobView, Sequence[FilePatch], Recheck], list[dict[str, Any]]]
"""Accepts a change set and returns its conflicts, which are empty on success."""
TrackProgress = Callable[[Sequence[ReadyChange]], Iterable[ReadyChange]]
"""Yields the changes one by one, and may show progress."""


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Result of a review.

    Each item of `conflicts` is `{node_id, path, detail}`. `skipped` contains a message about each
    change set that the filter left out, and `notes` all others. `new_findings` contains those of
    `notes` that are about findings caused by a merge. `damaged` contains
    messages about streams or contents that differ from the record. `observed` contains the calls
    that were observed in accepted tests. `created` contains the paths of new files among the user's
    files. `reopened` contains the nodes whose verdict was withdrawn. `error` is set if the review
    ended early, after some verdicts. `view` is the run after the review.
    """

    run_id: str
    accepted: list[str]
    rejected: list[str]
    conflicts: list[dict[str, Any]]
    notes: list[str]
    damaged: list[str]
    view: RunView = field(repr=False)
    skipped: Sequence[str] = ()
    new_findings: Sequence[str] = ()
    observed: Observation | None = None
    created: Sequence[str] = ()
    reopened: Sequence[str] = ()
    error: RemoraError | None = None

    @property
    def head(self) -> Head:
        """The head of the run's stream after the review."""
        return self.view.head


def accept(  # noqa: PLR0913 (the options of the command)
    project: Project,
    run: str | RunView,
    nodes: Sequence[str],
    *,
    every: bool = False,
    narrow: ReviewFilter = ALL,
    trusted: bool = False,
    progress: TrackProgress = iter,
) -> Verdicts:
    """Write the chosen change sets to the user's files. Each change set is written atomically.

    If `run` is a view of a verified record, its streams are not read again. Raises UsageError if
    nothing was chosen or the run is from another installation, NotFound if a node does not exist,
    StreamLocked if the run is still running, and StreamDamaged if all chosen change sets are
    damaged. An error that comes after the verdict on a change set is not raised, but is `error` of
    the result, and the other change sets are still pending.
    """
    record, known = own_record(project, run, trusted=trusted)
    complete_journals(project)
    accepted: list[JobView] = []
    with open_run(project, record) as stream:
        view = read_run(project, stream.record, known)
        picked = select_changes(project, view, nodes, every=every, narrow=narrow)

        def write(
            job: JobView, patches: Sequence[FilePatch], recheck: Recheck
        ) -> list[dict[str, Any]]:
            found = accept_one(project, stream, job, patches, recheck)
            if not found:
                accepted.append(job)
            return found

        done = accept_each(project, stream, picked, write, progress)
        return replace(done, observed=observed_runs(project, accepted))


def reject(  # noqa: PLR0913 (the options of the command)
    project: Project,
    run: str | RunView,
    nodes: Sequence[str],
    *,
    every: bool = False,
    narrow: ReviewFilter = ALL,
    feedback: str | None = None,
    trusted: bool = False,
) -> Verdicts:
    """Reject the chosen change sets.

    Raises whatever `accept` raises, and UsageError if the feedback is too long.
    """
    reason = checked_feedback(feedback, project.redact)
    record, known = own_record(project, run, trusted=trusted)
    with open_run(project, record) as stream:
        view = read_run(project, stream.record, known)
        jobs = choose_pending(view, nodes, every=every or bool(narrow and not nodes), verb="reject")
        unread = unreadable_streams(view, nodes)
        jobs, left = apply_filter(project, view, jobs, narrow)
        for job in jobs:
            refused = hunk_digests(project, job)
            stream.append(review_event(project, job, REJECTED, feedback=reason, refused=refused))
        return Verdicts(
            run_id=stream.run_id,
            accepted=[],
            rejected=[job.node_id for job in jobs],
            conflicts=[],
            notes=[],
            damaged=unread,
            view=read_run(project, stream.record, view.jobs),
            skipped=left,
        )


@dataclass(frozen=True, kw_only=True)
class SelectedChanges:
    """The jobs that can be accepted, and messages about those that the filter left out.

    `damaged` contains messages about the jobs that cannot be accepted.
    """

    view: RunView
    usable: list[ReadyChange]
    skipped: list[str]
    damaged: list[str]


def select_changes(
    project: Project, view: RunView, nodes: Sequence[str], *, every: bool, narrow: ReviewFilter
) -> SelectedChanges:
    """Return the chosen change sets of a run whose stream is locked.

    Raises whatever `accept` raises.
    """
    everything = every or bool(narrow and not nodes)
    jobs = choose_pending(view, nodes, every=everything, verb="accept")
    jobs, left = apply_filter(project, view, jobs, narrow)
    usable, broken = split_damaged(project, jobs)
    if broken and not usable:
        raise broken[0]
    return SelectedChanges(
        view=view,
        usable=usable,
        skipped=left,
        damaged=unreadable_streams(view, nodes)
        + [f"{error.message}; {error.hint}" for error in broken],
    )


def accept_each(
    project: Project,
    stream: RunStream,
    picked: SelectedChanges,
    accept_change: AcceptChange,
    progress: TrackProgress,
) -> Verdicts:
    """Accept the selected change sets one at a time, until there is an error.

    Raises the error if it concerns the first change set.
    """
    notes: list[str] = []
    new_findings: list[str] = []
    recheck = Recheck(project, picked.view.record)
    results: list[tuple[str, list[dict[str, Any]]]] = []
    created: dict[str, None] = {}
    error: RemoraError | None = None
    for job, patches in progress(picked.usable):
        missing = [each.path for each in patches if _creates(project, each)]
        recheck.clear()
        try:
            conflicts = accept_change(job, patches, recheck)
        except RemoraError as problem:
            if not results:
                raise
            error = problem
            break
        results.append((job.node_id, conflicts))
        if not conflicts:
            notes += recheck.notes
            new_findings += recheck.new_findings
            created |= dict.fromkeys(missing)
    return Verdicts(
        run_id=stream.run_id,
        accepted=[node_id for node_id, conflicts in results if not conflicts],
        rejected=[],
        conflicts=[conflict for _, conflicts in results for conflict in conflicts],
        notes=notes,
        damaged=picked.damaged,
        view=read_run(project, stream.record, picked.view.jobs),
        skipped=picked.skipped,
        new_findings=new_findings,
        created=list(created),
        error=error,
    )


def _creates(project: ProjectRecords, patch: FilePatch) -> bool:
    return patch.theirs is not None and not (project.root / patch.path).exists()


def accept_one(
    project: Project,
    stream: RunStream,
    job: JobView,
    patches: Sequence[FilePatch],
    recheck: Recheck,
    *,
    written: Written | None = None,
) -> list[dict[str, Any]]:
    """Accept a change set. Return the conflicts, which are empty on success.

    The change set is merged and verified. Then the journal is written, the review is recorded, and
    the files are replaced. If `written` is given, `patches` is what it describes. A conflict is
    then not recorded, because it says nothing about the whole change set.
    """
    prepared = prepare_changes(project.root, patches)
    if prepared.conflicts:
        prepared = merged_with_others(project, patches)
    is_whole = written is None
    before = objections(job, patches, prepared, recheck, users_tree(project), is_whole=is_whole)
    if before and not is_whole:
        return details(job.node_id, before)
    if before:
        return record_conflict(project, stream, job, details(job.node_id, before))
    recheck.notes += [f"{write.path}: deleted" for write in prepared.writes if write.result is None]
    present = present_hunks(patches, prepared)
    if present:
        hunks = count(len(present), "hunk")
        recheck.notes.append(
            f"{display_name(job.node_id)}: your files already contain {hunks} of it"
        )
    return write_change_set(
        project,
        stream,
        job.node_id,
        prepared,
        msgspec.structs.replace(
            review_event(project, job, ACCEPTED), written=written, present=present
        ),
        review_event(project, job, CONFLICT),
    )


def record_conflict(
    project: Project, stream: RunStream, job: JobView, found: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Record the conflicts in the run's stream and return them."""
    conflict = review_event(project, job, CONFLICT)
    stream.append(msgspec.structs.replace(conflict, detail=project.redact.clean(found)))
    return found
