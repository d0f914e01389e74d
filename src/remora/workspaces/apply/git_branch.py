"""Commits onto a branch that nobody has checked out: through an index of our own, so that neither
the user's files nor their index are touched."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import HostError, OutsideError, UsageError
from remora.files.git import git_output
from remora.workspaces.apply.three_way import FilePatch, FileWrite
from remora.workspaces.commit_files import read_blobs

_REGULAR = {"100644": 0o644, "100755": 0o755, "100664": 0o644}
_IDENTITY = '`git config user.name "…"` and `git config user.email "…"` say who you are'


class _Entry(NamedTuple):
    mode: str
    blob: str


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch as it stands: its full ref, the commit that the next one goes on from, and whether
    the ref is there. `prefix` leads from the repository's top to `root`."""

    root: Path
    name: str
    tip: str
    is_new: bool
    prefix: bytes

    @property
    def ref(self) -> str:
        """The full name."""
        return f"refs/heads/{self.name}"

    @property
    def old(self) -> str:
        """What the ref must hold for the next commit to be put there; zeros for none."""
        return "0" * len(self.tip) if self.is_new else self.tip

    def read_file(self, path: str) -> tuple[bytes | None, int]:
        """A file's content and permission bits at the tip; None for a name that is free. Raises
        HostError for what is no regular file."""
        found = self._entry(path)
        if found is None:
            return None, 0
        if found.mode not in _REGULAR:
            raise HostError(f"{path}: is a link or no file on the branch {self.name}")
        (content,) = read_blobs(self.root, [found.blob])
        return content, _REGULAR[found.mode]

    def _entry(self, path: str) -> _Entry | None:
        said = git_output(self.root, "ls-tree", "-z", self.tip, "--", f"./{path}").split(b"\0")[0]
        kind, _, name = said.partition(b"\t")
        if name != os.fsencode(path):
            return None
        mode, _, blob = kind.decode().split()
        return _Entry(mode, blob)


def open_branch(root: Path, name: str) -> Branch:
    """The branch as it stands, begun at HEAD where it is not there yet. Nothing is written.

    Raises UsageError, which says what to do, where no commit can be put there.
    """
    try:
        prefix = git_output(root, "rev-parse", "--show-prefix").removesuffix(b"\n")
    except OutsideError as error:
        raise UsageError(
            f"{root} is in no git repository: {error.message}",
            hint="without --git-branch the changes are written to your files",
        ) from error
    head = _head(root)
    if name.startswith("-") or not _says(root, "check-ref-format", f"refs/heads/{name}"):
        raise UsageError(f"{name!r} is no name for a branch")
    tip = _commit(root, f"refs/heads/{name}")
    if tip is not None:
        _check_grows(root, name)
    branch = Branch(root=root, name=name, tip=tip or head, is_new=tip is None, prefix=prefix)
    _check_can_be_written(branch)
    return branch


def with_committed_line_ends(branch: Branch, patch: FilePatch) -> FilePatch:
    """A patch of a file that is checked out with other line ends than it is committed with."""
    if patch.base is None or b"\r\n" not in patch.base:
        return patch
    try:
        content, _ = branch.read_file(patch.path)
    except HostError:  # told where the patch is merged
        return patch
    if content is None or b"\r\n" in content:
        return patch
    return msgspec.structs.replace(
        patch, base=_unix(patch.base), theirs=patch.theirs and _unix(patch.theirs)
    )


def write_tree(branch: Branch, writes: Sequence[FileWrite], index: Path) -> str:
    """Store the tree of the tip with these writes; its name. `index` is a path for a file that is
    only used meanwhile. Raises OutsideError."""
    git_output(branch.root, "read-tree", branch.tip, index=index)
    lines = b"".join(_index_line(branch, write) for write in writes)
    git_output(branch.root, "update-index", "-z", "--index-info", stdin=lines, index=index)
    return git_output(branch.root, "write-tree", index=index).decode().strip()


def commit_tree(branch: Branch, tree: str, message: str) -> str:
    """A commit of that tree after the tip; its name. Nothing leads to it yet. Raises OutsideError."""
    words = "commit-tree", tree, "-p", branch.tip, "-F", "-"
    return git_output(branch.root, *words, stdin=message.encode()).decode().strip()


def move_branch(branch: Branch, commit: str) -> None:
    """Lead the branch to the commit, if it stands where it stood. Raises OutsideError if not."""
    words = "update-ref", "--no-deref", "-m", "remora: accept", branch.ref, commit, branch.old
    git_output(branch.root, *words)


def reread_branch(branch: Branch) -> Branch:
    """The branch as it stands after a commit of ours. Raises OutsideError where it is gone."""
    words = "rev-parse", "--verify", f"{branch.ref}^{{commit}}"
    tip = git_output(branch.root, *words).decode().strip()
    return msgspec.structs.replace(branch, tip=tip, is_new=False)


def messages_since(branch: Branch) -> str | None:
    """The messages of what was committed to the branch since it stood as here; None where the ref
    is still as it was."""
    now = _commit(branch.root, branch.ref)
    if now == (None if branch.is_new else branch.tip):
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
    # a new file gets the line ends that git would give it; one that is there keeps its own
    place = ("--path", write.path) if write.ours is None else ()
    words = "hash-object", "-w", "--stdin", *place
    blob = git_output(branch.root, *words, stdin=write.result).strip()
    return (b"100755 " if write.mode & 0o100 else b"100644 ") + blob + b"\t" + path + b"\0"


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def _head(root: Path) -> str:
    """The commit that is checked out, on a branch or not. Raises UsageError."""
    head = _commit(root, "HEAD")
    if head is None:
        raise UsageError("the repository has no commits yet", hint="commit once, then repeat this")
    return head


def _check_grows(root: Path, name: str) -> None:
    """An existing branch must contain HEAD, and be nobody's working tree. Raises UsageError."""
    ref = f"refs/heads/{name}"
    said = git_output(root, "for-each-ref", "--format=%(worktreepath)%00%(symref)", ref)
    place, _, leads_to = said.decode("utf-8", "replace").strip("\n").partition("\0")
    if place:
        raise UsageError(
            f"the branch {name} is checked out in {place}",
            hint="name another branch, or accept without --git-branch to write to your files",
        )
    if leads_to:
        raise UsageError(f"the branch {name} stands for {leads_to}", hint="name that one")
    if not _says(root, "merge-base", "--is-ancestor", "HEAD", ref):
        raise UsageError(
            f"the branch {name} does not contain what is checked out (HEAD)",
            hint=f"name a new branch, or bring {name} up to HEAD first",
        )


def _check_can_be_written(branch: Branch) -> None:
    """The ref can be locked and made, and git knows who commits. Raises UsageError."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        try:
            git_output(branch.root, "var", who)
        except OutsideError as error:
            raise UsageError("git does not know who commits", hint=_IDENTITY) from error
    trial = f"start\nupdate {branch.ref} {branch.tip} {branch.old}\nprepare\nabort\n"
    try:
        git_output(branch.root, "update-ref", "--stdin", stdin=trial.encode())
    except OutsideError as error:
        raise UsageError(
            f"the branch {branch.name} cannot be written: {error.message}", hint="name another one"
        ) from error


def _commit(root: Path, name: str) -> str | None:
    words = "rev-parse", "--verify", "-q", f"{name}^{{commit}}"
    return git_output(root, *words, succeeds=(0, 1, 128)).decode().strip() or None


def _says(root: Path, *words: str) -> bool:
    """Whether git says yes (0) and not no (1)."""
    try:
        git_output(root, *words)
    except OutsideError:
        return False
    return True
