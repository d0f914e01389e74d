"""Acceptance and rejection of changes, as Python functions. They print nothing.

The arguments have the same meaning as in `remora.usecases.api`. Each verdict is recorded with
`Project.surface`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from remora.bootstrap.open_project import open_with
from remora.errors import DiskError, NotFound, StreamDamaged
from remora.ids import LAST
from remora.runs.project import Project
from remora.runs.records.results import RunView, read_run
from remora.runs.records.review_verdict import checked_feedback, review_event
from remora.runs.records.run_record import read_own_record
from remora.runs.review.accepted_changes import (
    Announce,
    MayWrite,
    SelectedChanges,
    TrackProgress,
    Verdicts,
    accept_each,
    accept_one,
    opened_review,
    refused_untested,
    select_changes,
)
from remora.runs.review.git_branch import accept_onto_branch, open_branch, tree_of
from remora.runs.review.ready_changes import ready_change, unreadable_streams, verdict_on
from remora.runs.review.recheck import users_tree
from remora.runs.review.repeats import hunk_digests
from remora.runs.review.selection import apply_filter, choose_groups, choose_pending, parse_filter
from remora.statuses import REJECTED
from remora.text import as_texts


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which change sets to accept or reject, as `accept` describes it."""

    every: bool = False
    rules: Iterable[str] = ()
    only_if: Iterable[str] = ()
    trust_run: bool = False

    def __bool__(self) -> bool:
        """Return True if change sets are selected without naming nodes."""
        return bool(self.every or self.rules or self.only_if)


def accept(  # noqa: PLR0913 (one keyword for each option of the command)
    run: str | RunView = LAST,
    *nodes: str,
    every: bool = False,
    rules: Iterable[str] = (),
    only_if: Iterable[str] = (),
    git_branch: str | None = None,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    progress: TrackProgress = iter,
    announce: Announce = lambda _: None,
    may_write: MayWrite = lambda *_: True,
) -> Verdicts:
    """Write verified changes to the project's files.

    Each change set is applied completely or not at all. Pass `nodes` (`path:qualname`, a qualname,
    or a glob) to select changes, or set `every` to select all of them. `rules` and `only_if`
    (`verified`, `docstring-only`) narrow the selection. If `git_branch` is given, each change set
    becomes a commit on that branch instead. `run` can also be a RunView that was read before.
    `announce` is told how long the gates may take, and which cannot judge. Code that the project's
    tests did not run with is refused unless `may_write` returns True.

    Raises UsageError if nothing was chosen, the run is from another installation or the branch
    cannot be written, NotFound if a node does not exist, StreamLocked if the run is still running,
    and StreamDamaged if all chosen change sets are damaged. An error that comes after the verdict
    on a change set is not raised, but is `error` of the result, and the other change sets are still
    pending.
    """
    project = open_with(root)[1]
    narrow = parse_filter(as_texts(rules), as_texts(only_if))
    with opened_review(project, run, trusted=trust_run) as (stream, view):
        branch = None if git_branch is None else open_branch(project.root, git_branch)
        picked = select_changes(project, view, nodes, every=every, narrow=narrow)
        tree = users_tree(project) if branch is None else tree_of(project, branch)
        refused = refused_untested(project, view, picked.usable, may_write)
        if any(change.is_part for change in picked.usable):
            from remora.runs.judgement.judgement import judge_parts  # imports what runs agents

            refused |= judge_parts(project, announce, view, picked.usable, tree)
        if branch is not None:
            return accept_onto_branch(project, stream, picked, branch, progress, refused)
        write = partial(accept_one, project, stream)
        return accept_each(project, stream, picked, write, progress, refused)


def reject(  # noqa: PLR0913 (one keyword for each option of the command)
    run: str | RunView = LAST,
    *nodes: str,
    every: bool = False,
    rules: Iterable[str] = (),
    only_if: Iterable[str] = (),
    feedback: str | None = None,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> Verdicts:
    """Reject changes. The project's files are not modified.

    The arguments have the same meaning as in `accept`. Raises whatever `accept` raises, and
    UsageError if the feedback is too long.
    """
    project = open_with(root)[1]
    narrow = parse_filter(as_texts(rules), as_texts(only_if))
    reason = checked_feedback(feedback, project.redact)
    with opened_review(project, run, trusted=trust_run) as (stream, view):
        jobs = choose_pending(view, nodes, every=every or bool(narrow and not nodes), verb="reject")
        unread = unreadable_streams(view, nodes)
        jobs, left = apply_filter(project, view, jobs, narrow)
        rejected: list[str] = []
        for job in jobs:
            try:
                change, others = choose_groups(ready_change(project, job), narrow, nodes)
            except (DiskError, NotFound, StreamDamaged):  # only the whole of it can be rejected
                stream.append(review_event(project, job, REJECTED, feedback=reason))
            else:
                left += others
                if change is None:
                    continue
                review = verdict_on(project, change, REJECTED, feedback=reason)
                stream.append(replace(review, refused=(*hunk_digests(change).values(),)))
            rejected.append(job.node_id)
        return Verdicts(
            run_id=stream.run_id,
            rejected=rejected,
            damaged=unread,
            view=read_run(project, stream.record, view.jobs),
            skipped=left,
        )


def select(project: Project, run_id: str, nodes: Sequence[str], chosen: Chosen) -> SelectedChanges:
    """Return what `accept` would write of a run, even if another installation started the run.

    Raises the errors of `accept` about a run, a node or a rule.
    """
    view = read_run(project, read_own_record(project, run_id, trusted=True))
    narrow = parse_filter(as_texts(chosen.rules), as_texts(chosen.only_if))
    return select_changes(project, view, nodes, every=chosen.every, narrow=narrow)
