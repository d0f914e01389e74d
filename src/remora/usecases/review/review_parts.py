"""Functions that accept a part of a change or an edited version, and that undo verdicts.

The arguments have the same meaning as in `remora.usecases.api`. `node` must have one pending
change. The ID of an agent names exactly one. Each verdict is recorded with `Project.surface`.
"""

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from remora.runs.judgement.judge_parts import Announce, announce_nothing, judge_parts
from remora.runs.project import Project
from remora.runs.records.results import RunView
from remora.runs.review import accept_part
from remora.runs.review.accept_and_reject import Verdicts
from remora.runs.review.accept_part import ChooseLines
from remora.runs.review.revert import undo as undo_verdicts
from remora.usecases.api_arguments import as_run, open_with
from remora.workspaces.apply.transaction import FilePatch
from remora.workspaces.hunks import ChangeHunk


def hunks(
    run: str | RunView,
    node: str,
    *,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> list[ChangeHunk]:
    """Return the hunks of a pending change set, in the order of its diff."""
    _, project = open_with(root)
    return accept_part.pending_hunks(project, as_run(project, run), node, trusted=trust_run)


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
    _, project = open_with(root)
    judge = partial(judge_parts, project, announce)
    return accept_part.accept_hunks(
        project, as_run(project, run), node, numbers, trusted=trust_run, judge=judge
    )


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
    _, project = open_with(root)
    return accept_part.proposed_files(
        project, as_run(project, run), node, trusted=trust_run, choose=choose
    )


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
    _, project = open_with(root)
    judge = partial(judge_parts, project, announce)
    return accept_part.accept_edited(
        project, as_run(project, run), node, files, trusted=trust_run, judge=judge
    )


def undo(
    run: str | RunView,
    *nodes: str,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> Verdicts:
    """Withdraw the last verdict on each change set of `nodes`, so that it is pending again.

    What an accepted change set wrote is removed from the project's files. Later edits are kept.
    """
    _, project = open_with(root)
    return undo_verdicts(project, as_run(project, run), nodes, trusted=trust_run)
