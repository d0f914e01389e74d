"""Base snapshot, a frozen private copy of the project at the start of a run."""

import hashlib
import os
import stat as st
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, HostError, OutsideError, undo_on_error
from remora.files.project_files import ProjectFiles, is_private
from remora.files.walk import list_folder
from remora.rmtree import try_remove_tree
from remora.workspaces.commit_files import CommittedFile, committed_files, indexed_files, open_blobs
from remora.workspaces.copy.scan import is_in_tool_cache
from remora.workspaces.rooted_files import RootedFiles

_SMALL = 64 * 1024


class BaseFile(msgspec.Struct, frozen=True):
    """SHA-256 and permission bits of a file in a base."""

    sha256: str
    mode: int


class BaseSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen, read-only copy of `root` in `folder`.

    Files that have not changed since the commit have git's mode, which is 0644 or 0755. Other files
    have the mode of the user's file.
    """

    root: Path
    folder: Path
    files: Mapping[str, BaseFile]
    commit: str | None
    differing: Mapping[str, BaseFile | None]
    """The files that cannot be restored from the commit. None for one that only the commit has."""
    left_out: Mapping[str, str] = {}
    """The files that could not be copied, with the reason."""

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        return RootedFiles(self.folder).read_bytes(path)

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield the content of a file in pieces, for files of any size. Raises HostError."""
        return RootedFiles(self.folder).pieces(path)


def take_base(root: Path, files: ProjectFiles, folder: Path) -> BaseSnapshot:
    """Copy the project's files into `folder`.

    Small ignored files that packages may need are also copied, and Python files that a sparse
    checkout leaves out. Files that are unreadable or
    disappear during the copy are skipped. Cache folders of tools, such as `__pycache__`, are
    skipped too, because workspaces do not scan them. Raises DiskError if the copy cannot be
    written. If the copy fails or is interrupted, nothing is left of it.
    """
    _make_folder(folder)
    with undo_on_error(try_remove_tree, folder):
        return _copied(root, files, folder)


def _copied(root: Path, files: ProjectFiles, folder: Path) -> BaseSnapshot:
    committed = committed_files(root, files.commit) if files.commit else {}
    source = RootedFiles(root)
    copied: dict[str, BaseFile] = {}
    differing: dict[str, BaseFile | None] = {}
    left_out: dict[str, str] = {}
    for path in sorted({*files.paths, *_package_files(root, files.paths)}):
        if is_in_tool_cache(path):
            continue
        try:
            copied[path], same = _copy_file(source, folder, path, committed.get(path))
        except _Unreadable as error:
            left_out[path] = str(error).removeprefix(f"{path}: ")
            continue
        if not same:
            differing[path] = copied[path]
    hidden = indexed_files(root, sparse=True).items() if files.commit else ()
    lacking = {path: known for path, known in hidden if committed.get(path) == known}
    python = {path: known for path, known in lacking.items() if path.endswith(".py")}
    with suppress(OutsideError):  # a partial clone does not have them
        for path, content, known in _unchanged_files(root, python, copied):
            copied[path] = BaseFile(_freeze(folder, path, content, known.mode), known.mode)
    differing.update({path: None for path in committed if path not in copied})
    return BaseSnapshot(
        root=root,
        folder=folder,
        files=copied,
        commit=files.commit,
        differing=differing,
        left_out=left_out,
    )


def _copy_file(
    source: RootedFiles, folder: Path, path: str, known: CommittedFile | None
) -> tuple[BaseFile, bool]:
    """Copy a file, and return it, and True if it is the committed one.

    Raises _Unreadable if the file cannot be read.
    """
    try:
        status = source.stat(path)
    except HostError as error:
        raise _Unreadable(error.message) from error
    mode = st.S_IMODE(status.st_mode) & 0o777
    blob = None if known is None else known.new_hash(status.st_size)

    def pieces() -> Iterator[bytes]:
        try:
            for piece in source.pieces(path):
                if blob is not None:
                    blob.update(piece)
                yield piece
        except HostError as error:
            raise _Unreadable(error.message) from error

    sha256 = _freeze(folder, path, pieces(), mode)
    if known is None or blob is None or not known.matches(blob.hexdigest(), mode):
        return BaseFile(sha256, mode), False
    return BaseFile(sha256, known.mode), True


class _Unreadable(Exception):
    """A file of the project cannot be read."""


def restore_base(
    root: Path,
    commit: str | None,
    differing: Mapping[str, BaseFile | None],
    read_object: Callable[[str], Iterable[bytes]],
    folder: Path,
) -> BaseSnapshot:
    """Rebuild a base from the commit and the stored objects, without reading the working tree.

    Raises OutsideError if the commit is missing, and DiskError if a file cannot be written or a
    stored object is damaged.
    """
    _make_folder(folder)
    committed = committed_files(root, commit) if commit else {}
    files: dict[str, BaseFile] = {}
    for path, pieces, known in _unchanged_files(root, committed, differing):
        files[path] = BaseFile(_freeze(folder, path, pieces, known.mode), known.mode)
    for path, file in differing.items():
        if file is None:
            continue
        files[path] = file
        if _freeze(folder, path, read_object(file.sha256), file.mode) != file.sha256:
            raise DiskError(f"the stored content of {path} is damaged ({file.sha256})")
    ordered = {path: files[path] for path in sorted(files)}
    return BaseSnapshot(
        root=root, folder=folder, files=ordered, commit=commit, differing=dict(differing)
    )


def _unchanged_files(
    root: Path, committed: Mapping[str, CommittedFile], differing: Collection[str]
) -> Iterator[tuple[str, Iterable[bytes], CommittedFile]]:
    unchanged = [(path, known) for path, known in committed.items() if path not in differing]
    contents = open_blobs(root, [known.blob for _, known in unchanged])
    for (path, known), content in zip(unchanged, contents, strict=True):
        yield path, content.pieces(), known


def _package_files(root: Path, paths: Iterable[str]) -> set[str]:
    """Return small ignored files that are next to Python files, such as `_version.py`.

    Files in the root folder are skipped.
    """
    known = set(paths)
    packages = {path.rpartition("/")[0] for path in known if path.endswith(".py")} - {""}
    found: set[str] = set()
    for package in packages:
        for entry in list_folder(root / package):
            path = f"{package}/{entry.name}"
            if path not in known and _is_small(entry) and not is_private(path):
                found.add(path)
    return found


def _is_small(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name.endswith((".pyc", ".log", ".db", ".sqlite3")):
        return False
    try:
        return entry.is_file(follow_symlinks=False) and entry.stat().st_size <= _SMALL
    except OSError:
        return False


def _make_folder(folder: Path) -> None:
    try:
        make_private(folder.parent)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise DiskError(f"cannot create the base folder {folder}: {error.strerror}") from error


def _freeze(folder: Path, path: str, pieces: Iterable[bytes], mode: int) -> str:
    """Write a read-only copy of a file, and return its SHA-256.

    The executable bit is kept, because linters check it.
    """
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            yield piece

    try:
        RootedFiles(folder).create(path, hashed(), mode=0o500 if mode & 0o111 else 0o400)
    except HostError as error:
        raise DiskError(f"cannot write the base: {error.message}") from error
    return digest.hexdigest()
