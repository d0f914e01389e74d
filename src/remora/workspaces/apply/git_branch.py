"""Commits to a branch that is not checked out.

A temporary index is used, so the user's files and index are not touched.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import HostError, OutsideError, UsageError
from remora.files.git import git_output
from remora.workspaces.apply.merge_change_set import FilePatch, FileWrite
from remora.workspaces.commit_files import read_blobs
from remora.workspaces.rooted_files import READ_LIMIT

_REGULAR = {"100644": 0o644, "100755": 0o755, "100664": 0o644}
_IDENTITY = 'set `git config user.name "…"` and `git config user.email "…"`'


class _Entry(NamedTuple):
    mode: str
    blob: str


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A git branch. If the branch is new, `tip` is HEAD.

    If all commits of the branch are in HEAD, it is continued at HEAD: `tip` is HEAD and `merged` is
    the commit at which the branch still is. Otherwise, `merged` is an empty string. `prefix` is the
    path from the top of the repository to `root`.
    """

    root: Path
    name: str
    tip: str
    is_new: bool
    prefix: bytes
    merged: str

    @property
    def ref(self) -> str:
        """The full name of the ref."""
        return f"refs/heads/{self.name}"

    @property
    def old(self) -> str:
        """The value that the ref must have before an update. All zeros means that the ref must not
        exist.
        """
        return "0" * len(self.tip) if self.is_new else self.merged or self.tip

    def read_file(self, path: str) -> tuple[bytes | None, int]:
        """Return the content and mode of a file at the tip, or `(None, 0)` if there is no such
        file.

        Raises HostError if it is not a regular file.
        """
        if (found := self._entry(path)) is None:
            return None, 0
        if found.mode not in _REGULAR:
            raise HostError(f"{path}: is not a regular file on the branch {self.name}")
        (content,) = read_blobs(self.root, [found.blob], READ_LIMIT)
        if content is None:
            limit = READ_LIMIT >> 20
            raise HostError(f"{path}: is larger than {limit} MiB on the branch {self.name}")
        return content, _REGULAR[found.mode]

    def _entry(self, path: str) -> _Entry | None:
        line = git_output(self.root, "ls-tree", "-z", self.tip, "--", f"./{path}").split(b"\0")[0]
        kind, _, name = line.partition(b"\t")
        if name != os.fsencode(path):
            return None
        mode, _, blob = kind.decode().split()
        return _Entry(mode, blob)


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
    head = _head(root)
    if name.startswith("-") or not _succeeds(root, "check-ref-format", f"refs/heads/{name}"):
        raise UsageError(
            f"{name!r} is not a valid branch name", hint="use a name such as fixes/lint"
        )
    merged = ""
    if (tip := _commit(root, f"refs/heads/{name}")) is not None:
        _check_is_free(root, name)
        if tip != head and _succeeds(root, "merge-base", "--is-ancestor", tip, "HEAD"):
            tip, merged = head, tip
        elif not _succeeds(root, "merge-base", "--is-ancestor", "HEAD", tip):
            raise UsageError(
                f"the branch {name} does not contain HEAD",
                hint=f"delete it if it was merged, merge HEAD into {name}, or use a new branch",
            )
    branch = Branch(
        root=root, name=name, tip=tip or head, is_new=tip is None, prefix=prefix, merged=merged
    )
    _check_can_be_written(branch)
    return branch


def with_committed_line_ends(branch: Branch, patch: FilePatch) -> FilePatch:
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


def write_tree(branch: Branch, writes: Sequence[FileWrite], index: Path) -> str:
    """Apply writes to the tree at the tip, and store the new tree.

    Return the name of the new tree. `index` is the path of the temporary index file. Raises
    OutsideError if git fails.
    """
    git_output(branch.root, "read-tree", branch.tip, index=index)
    lines = b"".join(_index_line(branch, write) for write in writes)
    git_output(branch.root, "update-index", "-z", "--index-info", stdin=lines, index=index)
    return git_output(branch.root, "write-tree", index=index).decode().strip()


def commit_tree(branch: Branch, tree: str, message: str) -> str:
    """Create a commit on top of the tip, without updating the branch.

    Return the name of the commit. Raises OutsideError if git fails.
    """
    words = "commit-tree", tree, "-p", branch.tip, "-F", "-"
    return git_output(branch.root, *words, stdin=message.encode()).decode().strip()


def move_branch(branch: Branch, commit: str) -> None:
    """Move the branch to the commit.

    Raises OutsideError if the branch has moved since it was read.
    """
    words = "update-ref", "--no-deref", "-m", "remora: accept", branch.ref, commit, branch.old
    git_output(branch.root, *words)


def is_unchanged(branch: Branch, tree: str) -> bool:
    """Return True if the tip of the branch has this tree."""
    return git_output(branch.root, "rev-parse", f"{branch.tip}^{{tree}}").decode().strip() == tree


def reread_branch(branch: Branch) -> Branch:
    """Return the branch with its current tip. Raises OutsideError if it no longer exists."""
    now = _commit(branch.root, branch.ref)
    if now == (None if branch.is_new else branch.old):
        return branch
    words = "rev-parse", "--verify", f"{branch.ref}^{{commit}}"
    tip = git_output(branch.root, *words).decode().strip()
    return msgspec.structs.replace(branch, tip=tip, is_new=False, merged="")


def messages_since(branch: Branch) -> str | None:
    """Return the messages of commits that were added since `branch` was read.

    Returns None if the branch is unchanged.
    """
    now = _commit(branch.root, branch.ref)
    if now == (None if branch.is_new else branch.old):
        return None
    if now is None:
        return ""
    return git_output(branch.root, "log", "--format=%B", now, f"^{branch.tip}").decode(
        "utf-8", "replace"
    )


def _index_line(branch: Branch, write: FileWrite) -> bytes:
    path = branch.prefix + os.fsencode(write.path)
    if write.result is None:
        return b"0 " + b"0" * len(branch.tip) + b"\t" + path + b"\0"
    # git converts the line ends of a new file; an existing file keeps its line ends
    place = ("--path", write.path) if write.ours is None else ()
    words = "hash-object", "-w", "--stdin", *place
    blob = git_output(branch.root, *words, stdin=write.result).strip()
    return (b"100755 " if write.mode & 0o100 else b"100644 ") + blob + b"\t" + path + b"\0"


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def _head(root: Path) -> str:
    """Return the commit that is checked out. Raises UsageError if there are no commits."""
    if (head := _commit(root, "HEAD")) is None:
        raise UsageError(
            "the repository has no commits yet", hint="create a commit, then run this command again"
        )
    return head


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


def _commit(root: Path, name: str) -> str | None:
    words = "rev-parse", "--verify", "-q", f"{name}^{{commit}}"
    return git_output(root, *words, succeeds=(0, 1, 128)).decode().strip() or None


def _succeeds(root: Path, *words: str) -> bool:
    try:
        git_output(root, *words)
    except OutsideError:
        return False
    return True
