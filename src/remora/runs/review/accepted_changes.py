"""Acceptance of selected changes, one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from remora.errors import RemoraError
from remora.ids import display_name
from remora.memory.events import Head, Review
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.hunk_groups import groups_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, own_record, read_run
from remora.runs.records.review_verdict import review_event
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.report.job_texts import why_not_judged
from remora.runs.review.apply_changes import merged, objections, write_change_set
from remora.runs.review.journals import complete_journals, details
from remora.runs.review.ready_changes import (
    ReadyChange,
    split_damaged,
    unreadable_streams,
    verdict_on,
)
from remora.runs.review.recheck import Recheck, users_tree
from remora.runs.review.selection import (
    ReviewFilter,
    apply_filter,
    choose_groups,
    choose_pending,
    is_tested,
    tied_text,
)
from remora.statuses import ACCEPTED, CONFLICT, STALE, TEST_GATE
from remora.text import count
from remora.workspaces.apply.merge_change_set import FileConflict, FilePatch, PreparedChanges
from remora.workspaces.hunks import present_hunks

AcceptChange = Callable[[ReadyChange, Recheck], list[dict[str, Any]]]
"""Accepts a change set and returns its conflicts, which are empty on success."""
TrackProgress = Callable[[Sequence[ReadyChange]], Iterable[ReadyChange]]
"""Yields the changes one by one, and may show progress."""
Announce = Callable[[str], None]
"""Says how long a judgement will take, and what did not judge although it did in the run."""
MayWrite = Callable[[Sequence[str], str], bool]
"""Returns True if the changes of some nodes may be written although no test ran, for a reason."""


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Result of a review."""

    run_id: str
    view: RunView = field(repr=False)
    """The run after the review."""
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    """The conflicts, as `{node_id, path, detail}`."""
    refused: Sequence[dict[str, Any]] = ()
    """In the same form, the changes that no test ran with, and parts that make a gate worse."""
    notes: list[str] = field(default_factory=list)
    """Messages about change sets that were decided."""
    damaged: list[str]
    """Messages about streams or contents that differ from the record."""
    skipped: Sequence[str] = ()
    """A message about each change set that the filter left out."""
    new_findings: Sequence[str] = ()
    """Those of `notes` that are about findings caused by a merge."""
    created: Sequence[str] = ()
    """The paths of new files among the user's files."""
    branch: str = ""
    """The branch that has what was accepted, if any."""
    already: Sequence[str] = ()
    """The nodes whose changes were on the branch, or in HEAD, before."""
    reverted: Sequence[str] = ()
    """The nodes whose accepted change set was removed."""
    reopened: Sequence[str] = ()
    """The nodes whose verdict was withdrawn."""
    error: RemoraError | None = None
    """Set if the review ended early, after some verdicts."""
    pull_request: Mapping[str, Any] | None = None
    """A title, a file of text, and commands."""

    @property
    def unwritten(self) -> list[dict[str, Any]]:
        """The conflicts, and what was refused."""
        return [*self.conflicts, *self.refused]

    @property
    def head(self) -> Head:
        """The head of the run's stream after the review."""
        return self.view.head


@contextmanager
def opened_review(
    project: Project, run: str | RunView, *, trusted: bool
) -> Iterator[tuple[RunStream, RunView]]:
    """Complete an interrupted review, and yield a run's stream for another one, with its view.

    If `run` is a view of a verified record, its streams are not read again.
    """
    record, known = own_record(project, run, trusted=trusted)
    complete_journals(project)
    with open_run(project, record) as stream:
        yield stream, read_run(project, stream.record, known)


@dataclass(frozen=True, kw_only=True)
class SelectedChanges:
    """The change sets of a run that were chosen."""

    view: RunView
    usable: list[ReadyChange]
    """Those that can be accepted."""
    skipped: list[str]
    """Messages about those that the filter left out."""
    damaged: list[str]
    """Messages about those that cannot be accepted."""
    notes: Sequence[str] = ()
    """Messages about hunks that were left."""

    @property
    def as_view(self) -> RunView:
        """The run with nothing but the chosen hunks."""
        replace = msgspec.structs.replace
        chosen = ((change.job, change.hunks) for change in self.usable)
        jobs = (replace(job, review=replace(job.review, left=hunks)) for job, hunks in chosen)
        return replace(self.view, jobs=tuple(jobs))


def select_changes(
    project: ProjectRecords,
    view: RunView,
    nodes: Sequence[str],
    *,
    every: bool,
    narrow: ReviewFilter,
) -> SelectedChanges:
    """Return the chosen change sets of a run.

    Raises UsageError if nothing was chosen, NotFound if a node does not exist, and StreamDamaged
    if all chosen change sets are damaged.
    """
    everything = every or bool(narrow and not nodes)
    jobs = choose_pending(view, nodes, every=everything, verb="accept")
    jobs, left = apply_filter(project, view, jobs, narrow)
    ready, broken = split_damaged(project, jobs)
    if broken and not ready:
        raise broken[0]
    usable: list[ReadyChange] = []
    for whole in ready:
        change, others = choose_groups(whole, narrow, nodes)
        left += others
        usable += [change] if change is not None else []
    return SelectedChanges(
        view=view,
        usable=usable,
        skipped=left,
        damaged=unreadable_streams(view, nodes)
        + [f"{error.message}; {error.hint}" for error in broken],
        notes=tied_text(view.run_id, ready, narrow),
    )


def refused_untested(
    project: ProjectRecords, view: RunView, changes: Sequence[ReadyChange], may_write: MayWrite
) -> dict[str, str]:
    """Return why code may not be written that no test ran with, by agent."""
    jobs = [change.job for change in changes if not is_tested(project, change.job)]
    results = view.gates.results if view.gates else ()
    missing = (gate.missing for gate in results if gate.name == TEST_GATE)
    gap = why_not_judged(view) or next(missing, "no check ran")
    if not jobs or may_write([display_name(job.node_id) for job in jobs], gap):
        return {}
    why = f"no test ran with it ({gap}); --untested accepts it"
    return dict.fromkeys((job.agent_id for job in jobs), why)


def accept_each(
    project: Project,
    stream: RunStream,
    picked: SelectedChanges,
    accept_change: AcceptChange,
    progress: TrackProgress,
    refused: Mapping[str, str],
) -> Verdicts:
    """Accept the selected change sets one at a time, until there is an error.

    Those of the agents in `refused` are not tried, and stay pending. Raises the error if it
    concerns the first change set.
    """
    notes = [*picked.notes]
    new_findings: list[str] = []
    recheck = Recheck(project, picked.view.record)
    seen: dict[str, JobView] = {}
    conflicts, untried = list[dict[str, Any]](), list[dict[str, Any]]()
    created: dict[str, None] = {}
    error: RemoraError | None = None
    for change in progress(picked.usable):
        if why := refused.get(change.job.agent_id):
            conflict = FileConflict(path=change.patches[0].path, detail=why)
            untried += details(change.job.node_id, [conflict])
            continue
        missing = [patch.path for patch in change.patches if _creates(project, patch)]
        recheck.clear()
        try:
            found = accept_change(change, recheck)
        except RemoraError as problem:
            if not seen:
                raise
            error = problem
            break
        seen[change.job.agent_id] = change.job
        conflicts += found
        if not found:
            notes += recheck.notes
            new_findings += recheck.new_findings
            created |= dict.fromkeys(missing)
    view = read_run(project, stream.record, picked.view.jobs)
    return Verdicts(
        run_id=stream.run_id,
        accepted=[job.node_id for job in view.jobs if _is_newly_accepted(job, seen)],
        conflicts=conflicts,
        refused=untried,
        notes=notes,
        damaged=picked.damaged,
        view=view,
        skipped=picked.skipped,
        new_findings=new_findings,
        created=list(created),
        error=error,
    )


def _is_newly_accepted(job: JobView, seen: Mapping[str, JobView]) -> bool:
    """Return True if more of a job is accepted than when it was seen, by agent."""
    before, now = seen.get(job.agent_id), job.review
    if before is None or not now.is_written:
        return False
    return (now.state, now.written) != (before.review.state, before.review.written)


def _creates(project: ProjectRecords, patch: FilePatch) -> bool:
    return patch.theirs is not None and not (project.root / patch.path).exists()


def accept_one(
    project: Project, stream: RunStream, change: ReadyChange, recheck: Recheck
) -> list[dict[str, Any]]:
    """Accept a change. Return the conflicts, which are empty if all of it was written.

    It is merged and verified. Then the journal is written, the review is recorded, and the files
    are replaced.
    """
    change, prepared = without_collisions(change, partial(merged, project))
    job = change.job
    if before := objections(change, prepared, recheck, users_tree(project)):
        return refuse(project, stream, change, before)
    recheck.notes += [f"{write.path}: deleted" for write in prepared.writes if write.result is None]
    review = _acceptance(project, change, prepared, recheck)
    failed = write_change_set(
        project, stream, job.node_id, prepared, review, review_event(project, job, CONFLICT)
    )
    return [*change.collisions, *failed]


def _acceptance(
    project: Project, change: ReadyChange, prepared: PreparedChanges, recheck: Recheck
) -> Review:
    """Return the event that records an acceptance, with the hunks that the files already contain."""
    review = verdict_on(project, change, ACCEPTED)
    present = _present_hunks(change, prepared)
    if present:
        hunks, name = count(len(present), "hunk"), display_name(change.job.node_id)
        recheck.notes.append(f"{name}: your files already contain {hunks} of it")
    return msgspec.structs.replace(review, present=(*review.present, *present))


def _present_hunks(change: ReadyChange, prepared: PreparedChanges) -> list[int]:
    """Return the numbers of the hunks that the files already contain."""
    if change.is_edited and change.job.review.written:  # they are numbered otherwise
        return []
    present = present_hunks(change.patches, prepared)
    return [*present] if change.is_edited else [change.hunks[n - 1] for n in present]


def refuse(
    project: Project, stream: RunStream, change: ReadyChange, found: Sequence[FileConflict]
) -> list[dict[str, Any]]:
    """Record why a change is not written, unless a user chose exactly its hunks, and return it."""
    conflicts = [*change.collisions, *details(change.job.node_id, found)]
    if not change.is_exact:
        review = review_event(project, change.job, CONFLICT)
        stream.append(msgspec.structs.replace(review, detail=project.redact.clean(conflicts)))
    return conflicts


def without_collisions(
    change: ReadyChange, prepare: Callable[[Sequence[FilePatch]], PreparedChanges]
) -> tuple[ReadyChange, PreparedChanges]:
    """Merge a change without the groups of hunks that collide with the files.

    It is merged as it is if all groups collide, or if the user chose exactly its hunks.
    """
    prepared = prepare(change.patches)
    if not prepared.conflicts or change.is_exact or change.job.review.state == STALE:
        return change, prepared
    fitting = [
        number
        for group in groups_of(change.whole, change.job)
        if not prepare(change.only(group.hunks).patches).conflicts
        for number in group.hunks
    ]
    rest = change.only(fitting)
    if not rest.hunks:
        return change, prepared
    found = details(change.job.node_id, prepared.conflicts)
    return rest._replace(collisions=found), prepare(rest.patches)
