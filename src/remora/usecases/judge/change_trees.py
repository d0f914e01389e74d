"""A project before and after a change, as two folders."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copy, copytree
from stat import S_IWUSR
from typing import NamedTuple

from remora.errors import OutsideError, UsageError
from remora.files.git import git_output
from remora.files.project_files import ProjectFiles, is_private, own_folders, project_files
from remora.judges.judged_change import ChangedFile
from remora.rmtree import temporary_folder, try_remove_tree
from remora.runs.planning.changed_nodes import commit_of
from remora.workspaces.commit_files import CommittedFile, committed_files, indexed_files, open_blobs
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from remora.workspaces.rooted_files import READ_LIMIT

_BEFORE, _AFTER = "before", "after"
_DIFFER = 1
"""The exit code of `git diff --no-index` if the folders differ."""
_NO_MERGE_BASE = 1
"""The exit code of `git merge-base` without a common ancestor."""
_REMOTE = "refs/remotes/origin/"
_DEFAULT_BRANCHES = ("main", "master", "trunk", "develop")
"""Names of the default branch, if `origin` does not say it: git's, its old one, and usual others."""
_MOST_PARTS = 20_000
"""Files and hunks of a diff (decision). `git apply` takes 3 seconds for as many in one file."""
_UNKNOWN_NAME = 129
"""The exit code of `git for-each-ref` for a name that is not a commit."""
_LINK = b"120000"
"""Git's mode of a symbolic link."""


class ChangeRequest(NamedTuple):
    """Which change is judged."""

    revisions: str = ""
    """`A..B`, `A...B` (from their merge base) or `A`, which is compared with the files of the project; empty
    means HEAD."""
    staged: bool = False
    """True to compare the index with HEAD."""
    diff: bytes | None = None
    """A unified diff, which is applied to a copy of the project's files."""
    index_file: Path | None = None
    """The index to use instead of the repository's: `git commit -a` has its own while hooks run."""


class ChangeTrees(NamedTuple):
    """Two folders with a project's files, and the files that differ, by path."""

    before: Path
    after: Path
    files: Mapping[str, ChangedFile]
    since: str = ""
    """What the change was compared with, if the request did not say so."""
    unread: Mapping[str, str] = {}
    """The files of the project that could not be copied, with the reason."""


@contextmanager
def change_trees(
    root: Path, request: ChangeRequest, include: Sequence[str]
) -> Iterator[ChangeTrees]:
    """Yield the two sides of a change, which are removed at the end.

    Files that git ignores but packages need are in both. Raises UsageError if a revision is unknown,
    or a diff does not apply or has too many parts.
    """
    _check_parts(request.diff or b"")
    since = ""
    if request[:-1] == ChangeRequest()[:-1]:
        unnamed = unnamed_change(root)
        request, since = request._replace(revisions=unnamed.revision), unnamed.since
    with _trees(root, request, include) as trees:
        yield trees._replace(since=since)


class UnnamedChange(NamedTuple):
    """The change that is judged if nothing is named: the number of its Python files, the revision
    to compare with (empty for HEAD), what this is in words, and True if all of it is one commit that
    the default branch has.
    """

    files: int = 0
    revision: str = ""
    since: str = ""
    is_last_commit: bool = False


def unnamed_change(root: Path) -> UnnamedChange:
    """Return what has changed since HEAD, or else on the branch, and is known to git or Python."""
    words = "status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all -- ."
    with suppress(OutsideError):
        lines = git_output(root, *words.split()).decode(errors="replace").split("\0")
        own = own_folders(root)
        entries = [
            (line[:2], line[3:])
            for line in lines
            if line and not is_private(line[3:]) and (line[:2] != "??" or own.contain(line[3:]))
        ]
        python = sum(path.endswith(".py") for _, path in entries)
        if python or any(not {*"?A"} & {*kind} for kind, _ in entries):
            return UnnamedChange(python)
        if base := _branch_base(root):
            words = f"diff --name-only -z --no-ext-diff {base[0]} -- *.py"
            names = git_output(root, *words.split())
            return UnnamedChange(names.count(b"\0"), *base)
    return UnnamedChange()


def _branch_base(root: Path) -> tuple[str, str, bool] | tuple[()]:
    """Return the commit from which the work of a branch began, and what it is, in words.

    That is the merge base with the default branch, here or on `origin`, the nearer one. If this
    contains HEAD, it is the commit before HEAD, and the last value is true.
    """
    remote = git_output(root, "symbolic-ref", "-q", _REMOTE + "HEAD", succeeds=(0, 1, 128)).decode()
    named = [remote.strip().removeprefix(_REMOTE)] if remote else _DEFAULT_BRANCHES
    for name in named:
        listed = "for-each-ref", "--format=%(refname)", f"refs/heads/{name}", _REMOTE + name
        if git_output(root, *listed):
            # before the first commit, HEAD is unknown
            known = 0, _UNKNOWN_NAME
            apart = git_output(root, *listed, "--no-contains=HEAD", succeeds=known).decode().split()
            words = ("merge-base", "HEAD", *apart)
            found = git_output(root, *words, succeeds=(0, _NO_MERGE_BASE)) if apart else b""
            if found:
                commit = found.decode().strip()
                nearer = git_output(root, *listed, "--no-contains=HEAD", f"--contains={commit}")
                ref = nearer.decode().split()[0].split("/", 2)[2]
                return commit, f"the merge base with {ref} ({commit[:10]})", False
            break
    words = ("rev-parse", "--verify", "-q", "HEAD^{commit}^")
    commit = git_output(root, *words, succeeds=(0, 1, 128)).decode().strip()
    return (commit, f"the commit before HEAD ({commit[:10]})", True) if commit else ()


def last_commit(root: Path, revisions: str) -> str:
    """Return the commit with which a change ends, or HEAD: `dc7c0af Round the tax (Ann)`."""
    tip = revisions.partition("..")[2].strip(".") or "HEAD"
    words = "log", "-1", "--format=format:%h %s (%an)", f"{tip}^{{commit}}"
    with suppress(OutsideError):  # before the first commit, or without git
        return git_output(root, *words).decode(errors="replace")
    return ""


@contextmanager
def _trees(root: Path, request: ChangeRequest, include: Sequence[str]) -> Iterator[ChangeTrees]:
    files = project_files(root, include=include)
    with temporary_folder("judge-") as folder:
        base = take_base(root, files, folder / _BEFORE)
        for path, file in base.files.items():
            (base.folder / path).chmod(file.mode | S_IWUSR)
        copytree(base.folder, folder / _AFTER, symlinks=True, copy_function=copy)
        hidden = indexed_files(root, sparse=True) if files.commit is not None else {}
        for side, committed in zip((_BEFORE, _AFTER), _sides(root, request, files), strict=True):
            if committed is not None:
                _check_out(root, committed, (*files.paths, *hidden), base, folder / side)
            else:
                _write_files(root, hidden, folder / side)
        if request.diff is not None and request.diff.strip():
            _apply(request.diff, folder / _AFTER)
        unread = {**dict(files.skipped), **base.left_out}
        found = _changed_files(folder)
        yield ChangeTrees(folder / _BEFORE, folder / _AFTER, found, unread=unread)


def _sides(
    root: Path, request: ChangeRequest, files: ProjectFiles
) -> list[Mapping[str, CommittedFile] | None]:
    """Return the files of git on both sides. None means the files of the project."""
    if request.diff is not None:
        return [None, None]
    if request.staged:
        return [_committed(root, "", files), indexed_files(root, request.index_file)]
    first, dots, second = request.revisions.partition("..")
    if not dots:
        return [_committed(root, first, files), None]
    before = _commit(root, first or "HEAD")
    after = _commit(root, second.removeprefix(".") or "HEAD")
    if second.startswith("."):
        before = _merge_base(root, before, after)
    return [committed_files(root, before), committed_files(root, after)]


def _committed(root: Path, revision: str, files: ProjectFiles) -> Mapping[str, CommittedFile]:
    """Return the files of a commit, or of HEAD. Before the first commit, HEAD has none."""
    if not revision and files.commit is None and not files.note:
        return {}
    return committed_files(root, _commit(root, revision or "HEAD"))


def _commit(root: Path, revision: str) -> str:
    try:
        return commit_of(root, revision)
    except UsageError as error:
        raise UsageError(error.message, hint=_shallow_hint(root) or error.hint) from error


def _merge_base(root: Path, first: str, second: str) -> str:
    found = git_output(root, "merge-base", first, second, succeeds=(0, _NO_MERGE_BASE))
    if not found:
        raise UsageError(
            "the two commits have no common ancestor here",
            hint=_shallow_hint(root) or "compare them with REV..REV",
        )
    return found.decode().strip()


def _shallow_hint(root: Path) -> str:
    try:
        is_shallow = git_output(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except OutsideError:  # not a repository
        return ""
    fetch = "this clone is shallow; fetch its history with `git fetch --unshallow`"
    return fetch if is_shallow else ""


def _check_out(
    root: Path,
    committed: Mapping[str, CommittedFile],
    paths: Sequence[str],
    base: BaseSnapshot,
    tree: Path,
) -> None:
    """Turn a copy of the project's files into those of a commit or of the index."""
    for path in paths:
        if path in base.files and path not in committed:
            (tree / path).unlink()
    _write_files(root, committed, tree)


def _is_there(place: Path, file: CommittedFile) -> bool:
    return place.is_file() and file.has_content(place.read_bytes())


def _write_files(root: Path, committed: Mapping[str, CommittedFile], tree: Path) -> None:
    wanted = [
        (path, file)
        for path, file in committed.items()
        if not is_private(path) and not _is_there(tree / path, file)
    ]
    contents = open_blobs(root, [file.blob for _, file in wanted])
    for (path, file), content in zip(wanted, contents, strict=True):
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            for piece in content.pieces():
                out.write(piece)
        target.chmod(file.mode)


def _check_parts(diff: bytes) -> None:
    parts = diff.count(b"\ndiff --git ") + diff.count(b"\n@@ -")
    if parts > _MOST_PARTS:
        raise UsageError(
            f"the diff has {parts:,} files and hunks, more than {_MOST_PARTS:,}",
            hint="commit the change, and judge it with REV..REV",
        )


def _apply(diff: bytes, tree: Path) -> None:
    """Apply a diff to a folder. Raises UsageError if it does not apply."""
    git_output(tree, "init", "--quiet")  # a repository around it would limit what is applied
    try:
        git_output(tree, "apply", "--whitespace=nowarn", "-", stdin=diff)
    except OutsideError as error:
        raise UsageError(
            f"the diff does not apply to the files of the project: {error.message}",
            hint="make it of these files with `git diff --relative --binary`",
        ) from error
    finally:
        try_remove_tree(tree / ".git")


def _changed_files(folder: Path) -> dict[str, ChangedFile]:
    """Return the files that differ, by their new path, or by the old one if they are gone."""
    words = ("diff", "--no-index", "--raw", "-z", "-M", "--no-ext-diff", _BEFORE, _AFTER)
    output = git_output(folder, *words, succeeds=(0, _DIFFER))
    entries = iter(output.split(b"\0"))
    found: dict[str, ChangedFile] = {}
    for head in entries:
        if not head:
            continue
        kind = head.rpartition(b" ")[2][:1]
        old = _relative(next(entries))
        new = _relative(next(entries)) if kind in b"RC" else old
        if head.split(b" ")[1] == _LINK:  # only a diff makes one; it may point to any file
            (folder / _AFTER / new).unlink()
        found[new] = ChangedFile(
            path=new, before=_content(folder / _BEFORE / old), after=_content(folder / _AFTER / new)
        )
    return found


def _relative(path: bytes) -> str:
    return os.fsdecode(path).partition("/")[2]


def _content(path: Path) -> bytes | None:
    """Return the content of a file, or None if there is none or it is too large to be judged."""
    if not path.is_file() or path.stat().st_size > READ_LIMIT:
        return None
    return path.read_bytes()
