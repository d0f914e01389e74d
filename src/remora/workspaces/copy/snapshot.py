"""Base snapshot, a frozen private copy of the project at the start of a run."""

import hashlib
import os
import stat as st
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, HostError
from remora.files.project_files import ProjectFiles, is_private
from remora.sandbox.child.rmtree import try_remove_tree
from remora.workspaces.commit_files import CommittedFile, committed_files, read_blobs
from remora.workspaces.copy.scan import is_in_tool_cache
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles

_SMALL = 64 * 1024


class BaseFile(msgspec.Struct, frozen=True):
    """SHA-256 and permission bits of a file in a base."""

    sha256: str
    mode: int


class BaseSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen, read-only copy of `root` in `folder`.

    `differing` contains the files that cannot be restored from the commit. The value is None for a
    file that exists only in the commit. Files that have not changed since the commit have git's
    mode, which is 0644 or 0755. Other files have the mode of the user's file.
    """

    root: Path
    folder: Path
    files: Mapping[str, BaseFile]
    commit: str | None
    differing: Mapping[str, BaseFile | None]

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        return RootedFiles(self.folder).read_bytes(path, limit=FILE_LIMIT)


def take_base(root: Path, files: ProjectFiles, folder: Path) -> BaseSnapshot:
    """Copy the project's files into `folder`.

    Small ignored files that packages may need are also copied. Files that are unreadable or
    disappear during the copy are skipped. Cache folders of tools, such as `__pycache__`, are
    skipped too, because workspaces do not scan them. Raises DiskError if the copy cannot be
    written. If the copy fails or is interrupted, nothing is left of it.
    """
    _make_folder(folder)
    try:
        return _copied(root, files, folder)
    except BaseException:
        try_remove_tree(folder)
        raise


def _copied(root: Path, files: ProjectFiles, folder: Path) -> BaseSnapshot:
    committed = committed_files(root, files.commit) if files.commit else {}
    source = RootedFiles(root)
    copied: dict[str, BaseFile] = {}
    differing: dict[str, BaseFile | None] = {}
    for path in sorted({*files.paths, *_package_files(root, files.paths)}):
        if is_in_tool_cache(path):
            continue
        try:
            content = source.read_bytes(path, limit=FILE_LIMIT)
            mode = st.S_IMODE(source.stat(path).st_mode) & 0o777
        except HostError:
            continue
        known = committed.get(path)
        same = known is not None and known.matches(content, mode)
        copied[path] = BaseFile(_sha256(content), known.mode if known and same else mode)
        if not same:
            differing[path] = copied[path]
        _freeze(folder, path, content, mode)
    differing.update({path: None for path in committed if path not in copied})
    return BaseSnapshot(
        root=root, folder=folder, files=copied, commit=files.commit, differing=differing
    )


def restore_base(
    root: Path,
    commit: str | None,
    differing: Mapping[str, BaseFile | None],
    read_object: Callable[[str], bytes],
    folder: Path,
) -> BaseSnapshot:
    """Rebuild a base from the commit and the stored objects, without reading the working tree.

    Raises OutsideError if the commit is missing, and DiskError if a file cannot be written or a
    stored object is damaged.
    """
    _make_folder(folder)
    committed = committed_files(root, commit) if commit else {}
    files: dict[str, BaseFile] = {}
    for path, content, known in _unchanged_files(root, committed, differing):
        files[path] = BaseFile(_sha256(content), known.mode)
        _freeze(folder, path, content, known.mode)
    for path, file in differing.items():
        if file is None:
            continue
        content = read_object(file.sha256)
        if _sha256(content) != file.sha256:
            raise DiskError(f"the stored content of {path} is damaged ({file.sha256})")
        files[path] = file
        _freeze(folder, path, content, file.mode)
    ordered = {path: files[path] for path in sorted(files)}
    return BaseSnapshot(
        root=root, folder=folder, files=ordered, commit=commit, differing=dict(differing)
    )


def _unchanged_files(
    root: Path, committed: Mapping[str, CommittedFile], differing: Mapping[str, BaseFile | None]
) -> Iterator[tuple[str, bytes, CommittedFile]]:
    unchanged = [(path, known) for path, known in committed.items() if path not in differing]
    contents = read_blobs(root, [known.blob for _, known in unchanged])
    for (path, known), content in zip(unchanged, contents, strict=True):
        yield path, content, known


def _package_files(root: Path, paths: Iterable[str]) -> set[str]:
    """Return small ignored files that are next to Python files, such as `_version.py`.

    Files in the root folder are skipped.
    """
    known = set(paths)
    packages = {path.rpartition("/")[0] for path in known if path.endswith(".py")} - {""}
    found: set[str] = set()
    for package in packages:
        for entry in _entries(root / package):
            path = f"{package}/{entry.name}"
            if path not in known and _is_small(entry) and not is_private(path):
                found.add(path)
    return found


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


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


def _freeze(folder: Path, path: str, content: bytes, mode: int) -> None:
    """Write a read-only copy of a file. The executable bit is kept, because linters check it."""
    try:
        RootedFiles(folder).create(path, content, mode=0o500 if mode & 0o111 else 0o400)
    except HostError as error:
        raise DiskError(f"cannot write the base: {error.message}") from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
