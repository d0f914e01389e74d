"""Acceptance of a part of a change set, or of an edited version.

Both must pass the checks that the agent's submission had to pass. If they do not, nothing is
written or recorded, and the change set is still pending.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from remora.errors import Conflict, UsageError
from remora.ids import display_name, escape_path
from remora.memory.canonical import canonical_sha256
from remora.memory.events import Change, Written
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView, check_anchored
from remora.runs.records.results import RunView, own_record, read_run
from remora.runs.records.run_stream import open_run
from remora.runs.review.accept_and_reject import SelectedChanges, Verdicts, accept_each, accept_one
from remora.runs.review.journals import complete_journals
from remora.runs.review.merges import merged_with_others
from remora.runs.review.recheck import Recheck
from remora.runs.review.selection import choose_pending
from remora.workspaces.apply.transaction import FilePatch, prepare_changes
from remora.workspaces.hunks import ChangeHunk, hunks_of, with_hunks

_Part = tuple[Sequence[FilePatch], Written | None]
"""The patches to accept, and what is recorded about them."""


def accept_hunks(
    project: Project,
    run: str | RunView,
    node: str,
    numbers: Collection[int],
    *,
    trusted: bool = False,
) -> Verdicts:
    """Write only some hunks of a change set to the user's files.

    `numbers` are those of `hunks_of`. Raises whatever `accept` raises, and UsageError if a hunk
    does not exist or if `node` has several pending change sets.
    """

    def choose(_: JobView, patches: list[FilePatch]) -> _Part:
        of, chosen = len(hunks_of(patches)), tuple(sorted(set(numbers)))
        wrong = [number for number in chosen if not 1 <= number <= of]
        if wrong or not chosen:
            named = ", ".join(map(str, wrong)) or "none"
            raise UsageError(f"no such hunks: {named}", hint=f"use numbers from 1 to {of}")
        if len(chosen) == of:
            return patches, None
        part = with_hunks(patches, chosen)
        return part, written_part(project, part, hunks=chosen, of=of)

    return _accept(project, run, node, choose, trusted=trusted)


def accept_edited(
    project: Project,
    run: str | RunView,
    node: str,
    files: Sequence[FilePatch],
    *,
    trusted: bool = False,
) -> Verdicts:
    """Write an edited version of a change set to the user's files.

    `files` is what `proposed_files` returned, with other contents in `theirs`. Raises whatever
    `accept` raises, and UsageError if the edit changes nothing or another file, or if `node` has
    several pending change sets.
    """

    def choose(job: JobView, patches: list[FilePatch]) -> _Part:
        strange = sorted({each.path for each in files} - {each.path for each in patches})
        if strange:
            raise UsageError(f"{strange[0]} is not a file of this change set")
        if all(each.base == each.theirs for each in files):
            raise UsageError(
                f"the edit leaves nothing of the change of {display_name(job.node_id)}",
                hint="reject the change set instead",
            )
        return files, written_part(project, files, edited=True)

    return _accept(project, run, node, choose, trusted=trusted)


def pending_hunks(
    project: Project, run: str | RunView, node: str, *, trusted: bool
) -> list[ChangeHunk]:
    """Return the hunks of a pending change set. Raises whatever `accept` raises."""
    return hunks_of(_patches(project, _pending_job(project, run, node, trusted=trusted)))


def proposed_files(
    project: Project, run: str | RunView, node: str, *, trusted: bool
) -> list[FilePatch]:
    """Return the files that accepting a change set would write, with the user's current contents.

    In each patch, `base` is the user's file and `theirs` is the file after the change. Raises
    whatever `accept` raises, and Conflict if the change set cannot be merged with the user's files.
    """
    patches = _patches(project, _pending_job(project, run, node, trusted=trusted))
    prepared = prepare_changes(project.root, patches)
    if prepared.conflicts:
        prepared = merged_with_others(project, patches)
    for conflict in prepared.conflicts:
        raise Conflict(f"{conflict.path}: {conflict.detail}")
    return [
        FilePatch(path=write.path, base=write.ours, theirs=write.result, mode=write.mode)
        for write in prepared.writes
    ]


def _accept(
    project: Project,
    run: str | RunView,
    node: str,
    choose: Callable[[JobView, list[FilePatch]], _Part],
    *,
    trusted: bool,
) -> Verdicts:
    record, known = own_record(project, run, trusted=trusted)
    complete_journals(project)
    with open_run(project, record) as stream:
        view = read_run(project, stream.record, known)
        job = _one_pending(view, node)
        part, written = choose(job, _patches(project, job))

        def write(
            job: JobView, patches: Sequence[FilePatch], recheck: Recheck
        ) -> list[dict[str, Any]]:
            return accept_one(project, stream, job, patches, recheck, written=written)

        picked = SelectedChanges(view=view, usable=[(job, list(part))], skipped=[], damaged=[])
        return accept_each(project, stream, picked, write, iter)


def _pending_job(project: Project, run: str | RunView, node: str, *, trusted: bool) -> JobView:
    record, known = own_record(project, run, trusted=trusted)
    return _one_pending(read_run(project, record, known), node)


def _one_pending(view: RunView, node: str) -> JobView:
    found = choose_pending(view, [node], every=False, verb="accept")
    if len(found) > 1:
        raise UsageError(
            f"{node} has {len(found)} pending change sets",
            hint=f"use the ID of an agent: {', '.join(job.agent_id for job in found)}",
        )
    return found[0]


def _patches(project: Project, job: JobView) -> list[FilePatch]:
    """Return a job's patches. Raises StreamDamaged if its records are damaged."""
    check_anchored(job)
    return patches_of(project, job)


def written_part(
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
