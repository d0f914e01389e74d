"""The `accept --git-branch` command, which commits accepted changes to a branch.

The branch is not checked out: the user's files and index are not touched. The commit comes first
and the verdict's line in the run's stream follows, so no verdict is recorded whose commit is missing.
If the command is killed between the two, running it again finds the change on the branch and
records the verdict.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from remora.errors import HostError, OutsideError, UsageError
from remora.files.git import git_output
from remora.ids import display_name, escape_path, split_node_key, unescape_path
from remora.memory.events import RunStart
from remora.rmtree import temporary_folder
from remora.runs.project import Project
from remora.runs.records.run_stream import RunStream
from remora.runs.review.accepted_changes import (
    SelectedChanges,
    TrackProgress,
    Verdicts,
    accept_each,
    refuse,
    without_collisions,
)
from remora.runs.review.apply_changes import merged, objections, store_contents
from remora.runs.review.ready_changes import ReadyChange, verdict_on
from remora.runs.review.recheck import Recheck, Tree
from remora.statuses import ACCEPTED
from remora.workspaces.apply.merge_change_set import (
    FileConflict,
    FilePatch,
    FileWrite,
    PreparedChanges,
)
from remora.workspaces.commit_files import read_blobs
from remora.workspaces.copy.snapshot import BaseSnapshot, restore_base
from remora.workspaces.rooted_files import READ_LIMIT

TRAILER = "Remora-Trace"
"""Begins the last line of a commit's message, which has a run and its head before the verdict."""
_REGULAR = {"100644": 0o644, "100755": 0o755, "100664": 0o644}
_IDENTITY = 'set `git config user.name "…"` and `git config user.email "…"`'
_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A git branch."""

    root: Path
    name: str
    tip: str
    """The commit on which the next one is made: HEAD if the branch has no commits of its own."""
    old: str
    """The commit at which the branch is, or zeros if it does not exist."""
    prefix: bytes
    """The path from the top of the repository to `root`."""

    @property
    def ref(self) -> str:
        """The full name of the ref."""
        return f"refs/heads/{self.name}"

    @property
    def exists(self) -> bool:
        return bool(self.old.strip("0"))

    def read_file(self, path: str) -> tuple[bytes | None, int]:
        """Return the content and mode of a file at the tip, or `(None, 0)` if there is no such
        file.

        Raises HostError if it is not a regular file.
        """
        line = git_output(self.root, "ls-tree", "-z", self.tip, "--", f"./{path}").split(b"\0")[0]
        kind, _, name = line.partition(b"\t")
        if name != os.fsencode(path):
            return None, 0
        mode, _, blob = kind.decode().split()
        if mode not in _REGULAR:
            raise HostError(f"{path}: is not a regular file on the branch {self.name}")
        (content,) = read_blobs(self.root, [blob], READ_LIMIT)
        if content is None:
            limit = READ_LIMIT >> 20
            raise HostError(f"{path}: is larger than {limit} MiB on the branch {self.name}")
        return content, _REGULAR[mode]


def accept_onto_branch(
    project: Project,
    stream: RunStream,
    picked: SelectedChanges,
    branch: Branch,
    progress: TrackProgress,
    refused: Mapping[str, str],
) -> Verdicts:
    """Commit each selected change set to a branch, except those of the agents in `refused`.

    If the branch does not exist, it is created at HEAD. Raises whatever `accept_each` raises.
    """
    already: list[str] = []

    def commit(change: ReadyChange, recheck: Recheck) -> list[dict[str, Any]]:
        now = _reread(branch)
        if lacking := _lacking(stream.record.attempts.start, change, now):
            return refuse(project, stream, change, lacking)
        return _accept_one(project, stream, change, now, recheck, already)

    done = accept_each(project, stream, picked, commit, progress, refused)
    name = branch.name if _reread(branch).exists else ""
    return replace(done, created=(), branch=name, already=already)  # no files of the user


def _accept_one(
    project: Project,
    stream: RunStream,
    change: ReadyChange,
    branch: Branch,
    recheck: Recheck,
    already: list[str],
) -> list[dict[str, Any]]:
    """Accept a change onto the branch. Return the conflicts, which are empty on success.

    It is merged with the tip of the branch, verified and committed, and then its review is recorded.
    If the branch has the change, there is no commit, and its node is added to `already`.
    """

    def prepare(patches: Sequence[FilePatch]) -> PreparedChanges:
        committed = [_with_committed_line_ends(branch, patch) for patch in patches]
        return merged(project, committed, branch.read_file)

    change, prepared = without_collisions(change, prepare)
    job = change.job
    converted = _converted_on_commit(project.root, change.patches)
    before = converted or objections(change, prepared, recheck, tree_of(project, branch))
    if before:
        return refuse(project, stream, change, before)
    store_contents(project, prepared)
    written = write_tree(branch, prepared.writes)
    if written == git_output(branch.root, "rev-parse", f"{branch.tip}^{{tree}}").decode().strip():
        already.append(job.node_id)
    elif not _commit_tree(branch, written, _message(change, stream)):
        path, _ = split_node_key(job.node_id)
        detail = f"the branch {branch.name} has moved or was checked out in the meantime"
        conflict = FileConflict(path=unescape_path(path), detail=detail)
        return refuse(project, stream, change, [conflict])
    stream.append(verdict_on(project, change, ACCEPTED, branch=branch.name))
    return [*change.collisions]


def _lacking(start: RunStart, change: ReadyChange, branch: Branch) -> list[FileConflict]:
    """Return the file that a change is about, if its uncommitted code is not on the branch.

    A test of a new function, for example, fails without it.
    """
    path, _ = split_node_key(change.job.node_id)
    known = start.base.get("files", {}).get(path)
    if known is None or any(escape_path(patch.path) == path for patch in change.patches):
        return []
    content, _ = branch.read_file(unescape_path(path))
    if content is not None and sha256(content).hexdigest() == known["sha256"]:
        return []
    detail = f"was not committed when it was analyzed, and the branch {branch.name} has other code"
    return [FileConflict(path=unescape_path(path), detail=detail)]


def tree_of(project: Project, branch: Branch) -> Tree:
    """Return the tree at the tip of the branch."""

    def copy(folder: Path) -> BaseSnapshot:
        return restore_base(project.root, branch.tip, {}, project.trace.objects.pieces, folder)

    return Tree(read=lambda path: branch.read_file(path)[0], copy=copy)


def _message(change: ReadyChange, stream: RunStream) -> str:
    """Return a commit message with the subject, the fixed codes and the trailer."""
    fixes = f"Fixes {', '.join(change.rules)}.\n\n" if change.rules else ""
    trailer = f"{TRAILER}: {stream.run_id} {stream.head.count} {stream.head.hash}"
    return f"{subject_of(change)}\n\n{fixes}{trailer}\n"


def subject_of(change: ReadyChange) -> str:
    """Return a commit's subject, e.g. `lint: src/app.py:load`, without unprintable characters."""
    subject = f"{change.job.operation}: {display_name(change.job.node_id)}"
    return "".join(c if c.isprintable() else "?" for c in subject)


def open_branch(root: Path, name: str) -> Branch:
    """Return an existing branch, or a new branch at HEAD.

    Raises UsageError if Remora cannot add commits to the branch.
    """
    try:
        prefix = git_output(root, "rev-parse", "--show-prefix").removesuffix(b"\n")
    except OutsideError as error:
        raise UsageError(
            f"{root} is not in a git repository: {error.message}",
            hint="accept without --git-branch to write to your files",
        ) from error
    if (head := _commit(root, "HEAD")) is None:
        raise UsageError(
            "the repository has no commits yet", hint="create a commit, then run this command again"
        )
    # `HEAD` is refused, and `@{-1}` is printed as another name
    checked = git_output(root, "check-ref-format", "--branch", name, succeeds=(0, 1, 128, 129))
    if name.startswith(("-", "refs/")) or checked != os.fsencode(f"{name}\n"):
        raise UsageError(
            f"{name!r} is not a valid branch name", hint="use a name such as fixes/lint"
        )
    tip, old = head, _commit(root, f"refs/heads/{name}")
    if old is not None:
        _check_is_free(root, name)
        if _succeeds(root, "merge-base", "--is-ancestor", "HEAD", old):
            tip = old
        elif not _succeeds(root, "merge-base", "--is-ancestor", old, "HEAD"):
            raise UsageError(
                f"the branch {name} does not contain HEAD",
                hint=f"delete it if it was merged, merge HEAD into {name}, or use a new branch",
            )
    branch = Branch(root=root, name=name, tip=tip, old=old or "0" * len(head), prefix=prefix)
    _check_can_be_written(branch)
    return branch


def _reread(branch: Branch) -> Branch:
    """Return the branch with the tip that it has now."""
    now = _commit(branch.root, branch.ref)
    if now in (None, branch.old):
        return branch
    return msgspec.structs.replace(branch, tip=now, old=now)


def _check_is_free(root: Path, name: str) -> None:
    """Raise UsageError if the branch is checked out, or is a symbolic ref."""
    ref = f"refs/heads/{name}"
    line = git_output(root, "for-each-ref", "--format=%(worktreepath)%00%(symref)", ref)
    place, _, leads_to = line.decode("utf-8", "replace").strip("\n").partition("\0")
    if place:
        raise UsageError(
            f"the branch {name} is checked out in {place}",
            hint="use another branch, or accept without --git-branch to write to your files",
        )
    if leads_to:
        raise UsageError(
            f"the branch {name} is a symbolic ref to {leads_to}", hint=f"use {leads_to}"
        )


def _check_can_be_written(branch: Branch) -> None:
    """Raise UsageError if git cannot lock the ref, or if no author is configured."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        try:
            git_output(branch.root, "var", who)
        except OutsideError as error:
            raise UsageError("no author is configured for git commits", hint=_IDENTITY) from error
    trial = f"start\nupdate {branch.ref} {branch.tip} {branch.old}\nprepare\nabort\n"
    try:
        git_output(branch.root, "update-ref", "--stdin", stdin=trial.encode())
    except OutsideError as error:
        raise UsageError(
            f"the branch {branch.name} cannot be written: {error.message}",
            hint="use another branch",
        ) from error


def _converted_on_commit(root: Path, patches: Sequence[FilePatch]) -> list[FileConflict]:
    """Return the files that git would convert on commit, and the reason for each.

    Files in which git would only convert line endings are skipped. Clean filters are not run.
    Raises OutsideError if git fails.
    """
    words = ("check-attr", "-z", "--stdin", *_ATTRIBUTES)
    query = "".join(f"{patch.path}\0" for patch in patches).encode("utf-8", "surrogateescape")
    fields = git_output(root, *words, stdin=query).split(b"\0")[:-1]
    found = []
    for at in range(0, len(fields), 3):
        path, name, value = map(os.fsdecode, fields[at : at + 3])
        if value in _OFF or (name == "filter" and not _runs(root, value)):
            continue
        attribute = name if value == "set" else f"{name}={value}"
        detail = f"git converts it on commit ({attribute}), which Remora does not do"
        found.append(FileConflict(path=path, detail=detail))
    return found


def _runs(root: Path, driver: str) -> bool:
    """Return True if the filter is configured. Git ignores other filters."""
    keys = git_output(root, "config", "--name-only", "--list", succeeds=(0, 1)).decode(
        "utf-8", "replace"
    )
    names = {f"filter.{driver}.clean", f"filter.{driver}.process"}
    return not names.isdisjoint(keys.splitlines())


def _with_committed_line_ends(branch: Branch, patch: FilePatch) -> FilePatch:
    """Convert a patch to Unix line endings if its base has CRLF line endings but the file at the
    tip does not.
    """
    if patch.base is None or b"\r\n" not in patch.base:
        return patch
    try:
        content, _ = branch.read_file(patch.path)
    except HostError:  # reported when the patch is merged
        return patch
    if content is None or b"\r\n" in content:
        return patch
    return msgspec.structs.replace(
        patch, base=_unix(patch.base), theirs=patch.theirs and _unix(patch.theirs)
    )


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def write_tree(branch: Branch, writes: Sequence[FileWrite]) -> str:
    """Apply writes to the tree at the tip, store the new tree, and return its name.

    Raises OutsideError if git fails.
    """
    with temporary_folder("index-") as folder:
        index = folder / "index"
        git_output(branch.root, "read-tree", branch.tip, index=index)
        lines = b"".join(_index_line(branch, write) for write in writes)
        git_output(branch.root, "update-index", "-z", "--index-info", stdin=lines, index=index)
        return git_output(branch.root, "write-tree", index=index).decode().strip()


def _index_line(branch: Branch, write: FileWrite) -> bytes:
    path = branch.prefix + os.fsencode(write.path)
    if write.result is None:
        return b"0 " + b"0" * len(branch.tip) + b"\t" + path + b"\0"
    # git converts the line ends of a new file; an existing file keeps its line ends
    place = ("--path", write.path) if write.ours is None else ()
    words = "hash-object", "-w", "--stdin", *place
    blob = git_output(branch.root, *words, stdin=write.result).strip()
    return (b"100755 " if write.mode & 0o100 else b"100644 ") + blob + b"\t" + path + b"\0"


def _commit_tree(branch: Branch, tree: str, message: str) -> bool:
    """Create a commit on top of the tip and move the branch to it, which git does atomically.

    Return False if the branch has moved, or was checked out, since it was read. Raises OutsideError
    if git fails.
    """
    words = "commit-tree", tree, "-p", branch.tip, "-F", "-"
    commit = git_output(branch.root, *words, stdin=message.encode()).decode().strip()
    update = "update-ref", "--no-deref", "-m", "remora: accept", branch.ref, commit, branch.old
    try:
        _check_is_free(branch.root, branch.name)
        git_output(branch.root, *update)
    except UsageError:
        return False
    except OutsideError:
        now = _commit(branch.root, branch.ref)
        if (now or "0" * len(commit)) == branch.old:
            raise
        return now == commit
    return True


def _commit(root: Path, name: str) -> str | None:
    words = "rev-parse", "--verify", "-q", f"{name}^{{commit}}"
    return git_output(root, *words, succeeds=(0, 1, 128)).decode().strip() or None


def _succeeds(root: Path, *words: str) -> bool:
    try:
        git_output(root, *words)
    except OutsideError:
        return False
    return True
