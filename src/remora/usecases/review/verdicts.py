"""Verdicts on the changes of a run, as Python functions. They print nothing.

The arguments have the same meaning as in `remora.usecases.api`. Each verdict is recorded with
`Project.surface`. A function with one `node` needs a node with one pending change, or the ID of an
agent, which names exactly one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from remora.bootstrap.open_project import open_with
from remora.ids import LAST
from remora.runs.judgement.judgement import Announce, announce_nothing, judge_parts
from remora.runs.project import Project
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_record import read_own_record
from remora.runs.review import accept_and_reject, accept_part
from remora.runs.review import revert as reverting
from remora.runs.review.accept_and_reject import SelectedChanges, TrackProgress, Verdicts
from remora.runs.review.accept_part import ChooseLines
from remora.runs.review.git_branch import accept_onto_branch
from remora.runs.review.selection import parse_filter
from remora.text import as_texts
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import ChangeHunk


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
    announce: Announce = announce_nothing,
) -> Verdicts:
    """Write verified changes to the project's files.

    Each change set is applied completely or not at all. Pass `nodes` (`path:qualname`, a qualname,
    or a glob) to select changes, or set `every` to select all of them. `rules` and `only_if`
    (`verified`, `docstring-only`) narrow the selection. If `git_branch` is given, each change set
    becomes a commit on that branch instead. `run` can also be a RunView that was read before.
    `announce` is told how long the gates may take, and which cannot judge.
    """
    project = open_with(root)[1]
    write: Callable[..., Verdicts] = accept_and_reject.accept
    if git_branch is not None:
        write = partial(accept_onto_branch, name=git_branch)
    return write(
        project,
        run,
        nodes,
        every=every,
        narrow=parse_filter(as_texts(rules), as_texts(only_if)),
        trusted=trust_run,
        progress=progress,
        judge=partial(judge_parts, project, announce),
    )


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

    The arguments have the same meaning as in `accept`.
    """
    project = open_with(root)[1]
    return accept_and_reject.reject(
        project,
        run,
        nodes,
        every=every,
        narrow=parse_filter(as_texts(rules), as_texts(only_if)),
        feedback=feedback,
        trusted=trust_run,
    )


def select(project: Project, run_id: str, nodes: Sequence[str], chosen: Chosen) -> SelectedChanges:
    """Return what `accept` would write of a run, even if another installation started the run.

    Raises the errors of `accept` about a run, a node or a rule.
    """
    view = read_run(project, read_own_record(project, run_id, trusted=True))
    narrow = parse_filter(as_texts(chosen.rules), as_texts(chosen.only_if))
    return accept_and_reject.select_changes(project, view, nodes, every=chosen.every, narrow=narrow)


def revert(
    run: str = LAST, *nodes: str, root: str | Path | Project | None = None, trust_run: bool = False
) -> Verdicts:
    """Undo accepted changes in the project's files.

    Without `nodes`, all accepted changes of the run are undone.
    """
    project = open_with(root)[1]
    return reverting.revert(project, run, nodes, trusted=trust_run)


def hunks(
    run: str | RunView,
    node: str,
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> list[ChangeHunk]:
    """Return the hunks of a pending change set, in the order of its diff."""
    project = open_with(root)[1]
    return accept_part.pending_hunks(project, run, node, trusted=trust_run)


def accept_hunks(
    run: str | RunView,
    node: str,
    numbers: Collection[int],
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    announce: Announce = announce_nothing,
) -> Verdicts:
    """Write only some hunks of a change set to the project's files.

    `numbers` are those that `hunks` returns. The other hunks stay pending. The result is verified
    first, with the checks that the agent's submission had to pass and by the project's gates. If
    one fails, nothing is written or recorded, and `conflicts` of the result contains the reason.
    `announce` is told how long the gates may take, and which cannot judge.
    """
    project = open_with(root)[1]
    judge = partial(judge_parts, project, announce)
    return accept_part.accept_hunks(project, run, node, numbers, trusted=trust_run, judge=judge)


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
    return accept_part.proposed_files(project, run, node, trusted=trust_run, choose=choose)


def accept_edited(
    run: str | RunView,
    node: str,
    files: Sequence[FilePatch],
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
    announce: Announce = announce_nothing,
) -> Verdicts:
    """Write an edited version of a change set to the project's files.

    `files` is what `proposed_files` returned, with other contents in `theirs`. The result is
    verified first, as in `accept_hunks`.
    """
    project = open_with(root)[1]
    judge = partial(judge_parts, project, announce)
    return accept_part.accept_edited(project, run, node, files, trusted=trust_run, judge=judge)


def undo(
    run: str | RunView,
    *nodes: str,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> Verdicts:
    """Withdraw the last verdict on each change set of `nodes`, so that it is pending again.

    What an accepted change set wrote is removed from the project's files. Later edits are kept.
    """
    project = open_with(root)[1]
    return reverting.undo(project, run, nodes, trusted=trust_run)
