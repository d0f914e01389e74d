"""The `accept --git-branch` command, which commits accepted changes to a branch.

The user's files are not changed.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remora.files.git import git_output
from remora.ids import display_name
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.results import RunView, own_record, read_run
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.review.accept_and_reject import (
    Judge,
    TrackProgress,
    Verdicts,
    accept_each,
    refuse,
    select_changes,
    unjudged,
    without_collisions,
)
from remora.runs.review.apply_changes import objections, store_contents
from remora.runs.review.branch_journal import (
    TRAILER,
    PendingCommit,
    complete_branch,
    finish_commit,
    remove_pending,
    write_pending,
)
from remora.runs.review.filters import ALL, ReviewFilter
from remora.runs.review.journals import JournalNote
from remora.runs.review.merges import merged
from remora.runs.review.ready_changes import ReadyChange, verdict_on
from remora.runs.review.recheck import Recheck, Tree
from remora.statuses import ACCEPTED
from remora.workspaces.apply.git_branch import (
    Branch,
    is_unchanged,
    open_branch,
    reread_branch,
    with_committed_line_ends,
    write_tree,
)
from remora.workspaces.apply.journal import JournalFolder
from remora.workspaces.apply.transaction import FileConflict, FilePatch, PreparedChanges
from remora.workspaces.copy.snapshot import BaseSnapshot, restore_base

_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")


def accept_onto_branch(  # noqa: PLR0913 (the options of the command)
    project: Project,
    run: str | RunView,
    nodes: Sequence[str],
    *,
    name: str,
    every: bool = False,
    narrow: ReviewFilter = ALL,
    trusted: bool = False,
    progress: TrackProgress = iter,
    judge: Judge = unjudged,
) -> Verdicts:
    """Commit each chosen change set to a branch.

    If the branch does not exist, it is created at HEAD. The working tree and the user's index are
    not changed. Raises whatever `accept` raises, and UsageError if it is not possible to commit to
    the branch.
    """
    record, known = own_record(project, run, trusted=trusted)
    complete_branch(project)
    branch, already = open_branch(project.root, name), list[str]()
    with open_run(project, record) as stream:
        view = read_run(project, stream.record, known)
        picked = select_changes(project, view, nodes, every=every, narrow=narrow)

        def commit(change: ReadyChange, recheck: Recheck) -> list[dict[str, Any]]:
            nonlocal branch
            branch = reread_branch(branch)
            return _commit_one(project, stream, change, branch, recheck, already)

        refused = judge(view, picked.usable, _tree(project, branch))
        done = accept_each(project, stream, picked, commit, progress, refused)
        name = "" if reread_branch(branch).is_new else branch.name
        return replace(done, created=(), branch=name, already=already)  # no files of the user


def _commit_one(
    project: Project,
    stream: RunStream,
    change: ReadyChange,
    branch: Branch,
    recheck: Recheck,
    already: list[str],
) -> list[dict[str, Any]]:
    """Accept a change onto the branch. Return the conflicts, which are empty on success.

    The change set is merged with the tip of the branch and verified. Then the tree is stored, the
    journal is written, the review is recorded, and the commit is made. If the branch has the
    change, there is no commit, and its node is added to `already`.
    """

    def prepare(patches: Sequence[FilePatch]) -> PreparedChanges:
        committed = [with_committed_line_ends(branch, patch) for patch in patches]
        return merged(project, committed, branch.read_file)

    change, prepared = without_collisions(change, prepare)
    job, patches, tree = change.job, change.patches, _tree(project, branch)
    before = _altered(project, patches) or objections(
        job, patches, prepared, recheck, tree, is_whole=change.is_whole
    )
    if before:
        return refuse(project, stream, change, before)
    review = verdict_on(project, change, ACCEPTED, branch=branch.name)
    store_contents(project, prepared)
    with TemporaryDirectory(prefix="remora-index-") as folder:
        written = write_tree(branch, prepared.writes, Path(folder, "index"))
    if is_unchanged(branch, written):
        already.append(job.node_id)
        stream.append(review)
        return [*change.collisions]
    with JournalFolder(project.state / "journal").locked():
        pending = PendingCommit(
            name=branch.name,
            tip=branch.tip,
            is_new=branch.is_new,
            merged=branch.merged,
            tree=written,
            message=_message(change),
            note=JournalNote(
                run_id=stream.run_id,
                agent_id=job.agent_id,
                node_id=job.node_id,
                seq=str(stream.head.count),
            ),
        )
        write_pending(project, pending)
        stream.append(review)
        found = finish_commit(project.root, pending, stream.head)
        conflicts = refuse(project, stream, change, found) if found else [*change.collisions]
        remove_pending(project)
    return conflicts


def waiting_branches(root: Path) -> list[str]:
    """Return the local branches with commits of Remora whose changes HEAD lacks.

    A copy of a branch is the same one. HEAD has the changes of a branch that was squashed into it.
    """
    values = f"--format=%S%x20%(trailers:key={TRAILER},valueonly,separator=%x20)"
    log = git_output(root, "log", "--source", "--first-parent", values, "--branches", "^HEAD")
    lines = map(str.split, os.fsdecode(log).splitlines())
    found = dict.fromkeys(words[0] for words in lines if words[1:])
    tree = git_output(root, "rev-parse", "HEAD^{tree}")
    merge = "merge-tree", "--write-tree", "HEAD"  # fails before git 2.38
    lacking = (n for n in found if git_output(root, *merge, n, succeeds=(0, 1, 128, 129)) != tree)
    return [name.removeprefix("refs/heads/") for name in lacking]


def _altered(project: ProjectRecords, patches: Sequence[FilePatch]) -> list[FileConflict]:
    paths = [patch.path for patch in patches]
    return [FileConflict(path=p, detail=why) for p, why in _altered_on_commit(project.root, paths)]


def _tree(project: ProjectRecords, branch: Branch) -> Tree:
    """Return the tree at the tip of the branch."""

    def copy(folder: Path) -> BaseSnapshot:
        return restore_base(project.root, branch.tip, {}, project.trace.objects.pieces, folder)

    return Tree(read=lambda path: branch.read_file(path)[0], copy=copy)


def _message(change: ReadyChange) -> str:
    """Return a commit message, e.g. `lint: src/app.py:load`, followed by the fixed codes.

    Unprintable characters in names are replaced.
    """
    subject = f"{change.job.operation}: {display_name(change.job.node_id)}"
    lines = [subject, *(["", f"Fixes {', '.join(change.rules)}."] if change.rules else ())]
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)


def _altered_on_commit(root: Path, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that git would convert on commit, and the reason for each.

    Files in which git would only convert line endings are skipped. Clean filters are not run.
    Raises OutsideError if git fails.
    """
    if not paths:
        return
    words = ("check-attr", "-z", "--stdin", *_ATTRIBUTES)
    query = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    fields = git_output(root, *words, stdin=query).split(b"\0")[:-1]
    for at in range(0, len(fields), 3):
        path, name, value = (p.decode("utf-8", "surrogateescape") for p in fields[at : at + 3])
        if value in _OFF or (name == "filter" and not _runs(root, value)):
            continue
        attribute = name if value == "set" else f"{name}={value}"
        yield path, f"git converts it on commit ({attribute}), which Remora does not do"


def _runs(root: Path, driver: str) -> bool:
    """Return True if the filter is configured. Git ignores other filters."""
    keys = git_output(root, "config", "--name-only", "--list", succeeds=(0, 1)).decode(
        "utf-8", "replace"
    )
    names = {f"filter.{driver}.clean", f"filter.{driver}.process"}
    return not names.isdisjoint(keys.splitlines())
