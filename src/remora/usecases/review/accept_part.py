"""Acceptance of a part of a change, or of an edited version, as Python functions.

Both must pass the checks that the agent's submission had to pass, and the project's gates. If they
do not, nothing is written or recorded, and the change is still pending. The arguments have the same
meaning as in `remora.usecases.api`. `node` needs one pending change, or is the ID of an agent, which
names exactly one. Each function raises whatever `accept` raises, and UsageError if `node` has
several pending changes.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from remora.bootstrap.open_project import open_with
from remora.errors import Conflict, UsageError
from remora.ids import display_name
from remora.runs.judgement.judgement import judge_parts
from remora.runs.project import Project
from remora.runs.records.change_set_files import reverse_patches, shown_hunks
from remora.runs.records.job_view import JobView, check_anchored
from remora.runs.records.results import RunView, own_record, read_run
from remora.runs.review.accepted_changes import (
    Announce,
    MayWrite,
    SelectedChanges,
    Verdicts,
    accept_each,
    accept_one,
    opened_review,
    refused_untested,
)
from remora.runs.review.apply_changes import merged
from remora.runs.review.ready_changes import ReadyChange, ready_change, written_change
from remora.runs.review.recheck import users_tree
from remora.runs.review.selection import choose_pending
from remora.statuses import STALE
from remora.workspaces.apply.merge_change_set import FilePatch, prepare_changes
from remora.workspaces.apply.merge_lines import LineConflict, resolve3
from remora.workspaces.copy.changes import hunks_text
from remora.workspaces.hunks import ChangeHunk
from remora.workspaces.rooted_files import RootedFiles

ChooseLines = Callable[[LineConflict], bytes]
"""Returns the lines to write where the user and the agent changed the same lines."""
AS_AGENT: ChooseLines = attrgetter("theirs")


def hunks(
    run: str | RunView,
    node: str,
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> list[ChangeHunk]:
    """Return the hunks of a pending change set, in the order of its diff."""
    project = open_with(root)[1]
    return shown_hunks(project, _pending_job(project, run, node, trusted=trust_run))


def accept_hunks(  # noqa: PLR0913 (one keyword for each option of the command)
    run: str | RunView,
    node: str,
    numbers: Collection[int],
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    announce: Announce = lambda _: None,
    may_write: MayWrite = lambda *_: True,
) -> Verdicts:
    """Write only some hunks of a change set to the project's files.

    `numbers` are those that `hunks` returns. The other hunks stay pending. The result is verified
    first, with the checks that the agent's submission had to pass and by the project's gates. If
    one fails, nothing is written or recorded, and `conflicts` of the result contains the reason.
    `announce` and `may_write` are those of `accept`. Raises UsageError if a hunk is not pending.
    """

    def choose(change: ReadyChange) -> ReadyChange:
        wrong = sorted({*numbers} - {*change.hunks})
        if wrong or not numbers:
            named = ", ".join(map(str, wrong)) or "none"
            pending = hunks_text(change.hunks).partition(" ")[2]
            raise UsageError(f"no such hunks: {named}", hint=f"pending: {pending}")
        return change.only(numbers)._replace(is_exact=len({*numbers}) < len(change.hunks))

    project = open_with(root)[1]
    return _accept(project, run, node, choose, announce, may_write, trusted=trust_run)


def accept_edited(
    run: str | RunView,
    node: str,
    files: Sequence[FilePatch],
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    announce: Announce = lambda _: None,
) -> Verdicts:
    """Write an edited version of a change set to the project's files.

    `files` is what `proposed_files` returned, with other contents in `theirs`. The result is
    verified first, as in `accept_hunks`. Raises UsageError if the edit changes nothing or another
    file.
    """
    project = open_with(root)[1]

    def choose(change: ReadyChange) -> ReadyChange:
        name = display_name(change.job.node_id)
        strange = sorted({file.path for file in files} - {patch.path for patch in change.patches})
        if strange:
            raise UsageError(f"{strange[0]} is not a file of this change")
        if all(file.base == file.theirs for file in files):
            raise UsageError(
                f"the edit leaves nothing of the change of {name}",
                hint="reject the change instead",
            )
        edited = _with_accepted_part(project, change.job, files)
        return change._replace(patches=[*files], is_exact=True, is_edited=True, recorded=edited)

    return _accept(project, run, node, choose, announce, trusted=trust_run)


def _with_accepted_part(
    project: Project, job: JobView, files: Sequence[FilePatch]
) -> list[FilePatch]:
    """Return edited files, and those with an accepted part of the change, from before that part.

    Raises Conflict if the part cannot be removed from the user's files.
    """
    edited = {patch.path: patch for patch in files}
    part = [] if job.review.branch else written_change(project, job).patches
    removed = prepare_changes(project.root, reverse_patches(part))
    for conflict in removed.conflicts:
        raise Conflict(
            f"{conflict.path}: the accepted part of the change was edited: {conflict.detail}",
            hint="undo the part first, or reject the rest",
        )
    for write in removed.writes:
        theirs = edited[write.path].theirs if write.path in edited else write.ours
        edited[write.path] = FilePatch(
            path=write.path, base=write.result, theirs=theirs, mode=write.mode
        )
    return [*edited.values()]


def proposed_files(
    run: str | RunView,
    node: str,
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    choose: ChooseLines | None = None,
) -> list[FilePatch]:
    """Return the files that accepting a change set would write.

    `base` of each is the current content, and `theirs` the content after the change, with what
    `choose` returns where the same lines were edited. Raises Conflict if the change set cannot be
    merged with the project's files, unless `choose` can decide it.
    """
    project = open_with(root)[1]
    job = _pending_job(project, run, node, trusted=trust_run)
    patches = ready_change(project, job).patches
    prepared = merged(project, patches)
    conflicts = {conflict.path: conflict.detail for conflict in prepared.conflicts}
    found = [
        FilePatch(path=write.path, base=write.ours, theirs=write.result, mode=write.mode)
        for write in prepared.writes
    ]
    for patch in (patch for patch in patches if patch.path in conflicts):
        if (
            choose is None
            or patch.base is None
            or patch.theirs is None
            or job.review.state == STALE
        ):
            raise Conflict(f"{patch.path}: {conflicts[patch.path]}")
        yours = RootedFiles(project.root).read_bytes(patch.path)
        text = resolve3(patch.base, yours, patch.theirs, choose)
        found.append(FilePatch(path=patch.path, base=yours, theirs=text, mode=patch.mode))
    return found


def _accept(  # noqa: PLR0913 (as `accept_hunks`)
    project: Project,
    run: str | RunView,
    node: str,
    choose: Callable[[ReadyChange], ReadyChange],
    announce: Announce,
    may_write: MayWrite = lambda *_: True,
    *,
    trusted: bool,
) -> Verdicts:
    with opened_review(project, run, trusted=trusted) as (stream, view):
        change = choose(ready_change(project, _one_pending(view, node)))
        picked = SelectedChanges(view=view, usable=[change], skipped=[], damaged=[])
        refused = refused_untested(project, view, [change], may_write)
        refused |= judge_parts(project, announce, view, [change], users_tree(project))
        write = partial(accept_one, project, stream)
        return accept_each(project, stream, picked, write, iter, refused)


def _pending_job(project: Project, run: str | RunView, node: str, *, trusted: bool) -> JobView:
    record, known = own_record(project, run, trusted=trusted)
    return _one_pending(read_run(project, record, known), node)


def _one_pending(view: RunView, node: str) -> JobView:
    jobs = choose_pending(view, [node], every=False, verb="accept")
    if len(jobs) > 1:
        raise UsageError(
            f"{node} has {len(jobs)} pending changes",
            hint=f"use the ID of an agent: {', '.join(job.agent_id for job in jobs)}",
        )
    check_anchored(jobs[0])
    return jobs[0]
