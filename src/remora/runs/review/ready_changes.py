"""Changes that can be accepted, in whole or in part. Damaged ones are named and left out."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged, UsageError
from remora.ids import display_name, escape_path
from remora.memory.canonical import canonical_sha256
from remora.memory.events import Change, Review, Written
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.change_set_files import patches_from
from remora.runs.records.hunk_groups import groups_of
from remora.runs.records.job_view import JobView, check_anchored
from remora.runs.records.results import RunView, select_jobs
from remora.runs.records.review_verdict import review_event
from remora.statuses import ACCEPTED
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import hunk_count, with_hunks


class ReadyChange(NamedTuple):
    """The pending hunks of a change set, or some of them."""

    job: JobView
    whole: list[FilePatch]
    """The patches of the whole change set."""
    hunks: tuple[int, ...]
    """The numbers of the hunks to decide."""
    patches: list[FilePatch]
    """What the hunks change, or a user's edited version."""
    is_exact: bool = False
    """True if a user chose exactly these: a conflict then says nothing about the change set."""
    is_edited: bool = False
    """True if a user has edited it."""
    recorded: Sequence[FilePatch] = ()
    """An edited version with the parts that were accepted before, which is recorded instead of them."""
    collisions: Sequence[dict[str, Any]] = ()
    """The conflicts of hunks that were left out because of them."""

    @property
    def is_whole(self) -> bool:
        """True if this is the change set that the agent verified."""
        return not self.is_edited and len(self.hunks) == hunk_count(self.whole)

    @property
    def rules(self) -> list[str]:
        """The codes of the findings that these hunks fix."""
        hunks, groups = {*self.hunks}, groups_of(self.whole, self.job)
        return sorted({rule for group in groups if hunks & {*group.hunks} for rule in group.rules})

    @property
    def is_part(self) -> bool:
        """True if hunks of it stay pending or are left out, or if it is edited."""
        pending = len(self.job.review.left) or hunk_count(self.whole)
        return self.is_edited or len(self.hunks) < pending

    def as_whole_if_edited(self) -> "ReadyChange":
        """Return an edited change as if the edited version were the change set."""
        if not self.is_edited:
            return self
        hunks = (*range(1, hunk_count(self.patches) + 1),)
        return self._replace(whole=self.patches, hunks=hunks)

    def only(self, hunks: Collection[int]) -> "ReadyChange":
        """Return the change with only some of its hunks."""
        kept = tuple(number for number in self.hunks if number in hunks)
        if kept == self.hunks:
            return self
        return self._replace(hunks=kept, patches=with_hunks(self.whole, kept))


def ready_change(project: ProjectRecords, job: JobView) -> ReadyChange:
    """Return the pending hunks of a job. Raises whatever `patches_of` raises."""
    return _change(project, job, job.proposal.changes, job.review.left)


def written_change(project: ProjectRecords, job: JobView) -> ReadyChange:
    """Return the accepted hunks, if any, that the user's files did not contain before.

    Raises whatever `ready_change` raises.
    """
    if not job.review.is_written:
        return ReadyChange(job, [], (), [])
    part = () if job.review.written is None else job.review.written.hunks
    change = _change(project, job, job.proposal.changes if part else job.changes, part)
    return change.only({*change.hunks} - {*job.review.present})


def _change(
    project: ProjectRecords, job: JobView, changes: Iterable[Change], hunks: Collection[int]
) -> ReadyChange:
    """Return some hunks of recorded changes, or all if `hunks` is empty."""
    whole = patches_from(project, changes)
    change = ReadyChange(job, whole, (*range(1, hunk_count(whole) + 1),), whole)
    return change.only(hunks or change.hunks)


def verdict_on(
    project: Project,
    change: ReadyChange,
    verdict: str,
    *,
    feedback: str | None = None,
    branch: str | None = None,
) -> Review:
    """Return the event that records a verdict on some hunks. The others keep theirs.

    Raises UsageError if hunks are accepted elsewhere than those that were accepted before.
    """
    job, of = change.job, hunk_count(change.whole)
    if verdict == ACCEPTED and job.review.written is not None and job.review.branch != branch:
        place = f"the branch {job.review.branch}" if job.review.branch else "your files"
        raise UsageError(
            f"a part of {display_name(job.node_id)} was already accepted into {place}",
            hint="accept the rest there too, or undo the part first",
        )
    event = review_event(project, job, verdict, feedback=feedback, branch=branch)
    if change.is_edited:
        written = _written(project, change.recorded, edited=True)
        return msgspec.structs.replace(event, written=written, present=())
    hunks = {*(job.review.written.hunks if job.review.written else ())}
    hunks |= {*(change.hunks if verdict == ACCEPTED else ())}
    part = with_hunks(change.whole, hunks)
    return msgspec.structs.replace(
        event,
        written=_written(project, part, hunks=(*sorted(hunks),), of=of)
        if 0 < len(hunks) < of
        else None,
        left=tuple(n for n in job.review.left or range(1, of + 1) if n not in change.hunks),
        detail=project.redact.clean([*change.collisions]),
    )


def _written(
    project: ProjectRecords,
    patches: Sequence[FilePatch],
    *,
    hunks: tuple[int, ...] = (),
    of: int = 0,
    edited: bool = False,
) -> Written:
    """Store the contents of the patches, and return what to record about them."""
    put = project.trace.objects.put
    changes = tuple(
        Change(
            path=escape_path(patch.path),
            before=None if patch.base is None else put(patch.base),
            after=None if patch.theirs is None else put(patch.theirs),
            mode=patch.mode,
        )
        for patch in patches
    )
    return Written(
        changes=changes, sha256=canonical_sha256(changes), hunks=hunks, of=of, edited=edited
    )


def split_damaged(
    project: ProjectRecords,
    jobs: Iterable[JobView],
    read: Callable[[ProjectRecords, JobView], ReadyChange] = ready_change,
) -> tuple[list[ReadyChange], list[StreamDamaged]]:
    """Return the undamaged jobs with their patches, and the errors of the damaged jobs.

    A job is also damaged if the content of one of its files is missing or cannot be read.
    """
    usable: list[ReadyChange] = []
    broken: list[StreamDamaged] = []
    for job in jobs:
        try:
            check_anchored(job)
            usable.append(read(project, job))
        except (DiskError, NotFound, StreamDamaged) as damage:
            name = display_name(job.node_id)
            broken.append(StreamDamaged(f"{name}: {damage.message}", hint=damage.hint))
    return usable, broken


def unreadable_streams(view: RunView, nodes: Sequence[str]) -> list[str]:
    """Return messages about the jobs of `nodes`, or of the whole run, whose streams cannot be read."""
    asked = select_jobs(view, nodes) if nodes else view.jobs
    return [str(job.outcome.error) for job in asked if job.stream.damaged]
