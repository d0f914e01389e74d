"""Listing of folders, to find the files that belong to a project."""

import os
import stat as st
from typing import NamedTuple

SOURCES = (".py", ".pyi")
"""The suffixes of the files that have nodes: modules and stubs."""
MARKS = frozenset({".gitignore", ".git", "pyvenv.cfg"})
"""File names that affect membership when they appear or disappear."""


class Listing(NamedTuple):
    """Entries of a folder, as paths below the root. Symbolic links to folders are left out."""

    folder: str
    folders: list[str]
    files: list[tuple[str, "os.DirEntry[str]"]]
    """Files with one of the suffixes `SOURCES`, and symbolic links with such a name."""
    marks: frozenset[str]


def list_folder(top: str, folder: str) -> Listing | None:
    """List a folder below `top`, or return None if it cannot be read."""
    prefix = f"{folder}/" if folder else ""
    folders: list[str] = []
    files: list[tuple[str, os.DirEntry[str]]] = []
    marks: list[str] = []
    try:
        with os.scandir(f"{top}/{prefix}") as entries:
            for entry in entries:
                if (name := entry.name) in MARKS:
                    marks.append(name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(prefix + name)
                elif name.endswith(SOURCES) and (
                    entry.is_file(follow_symlinks=False)
                    or (entry.is_symlink() and not name.startswith("."))
                ):
                    files.append((prefix + name, entry))
    except OSError:
        return None
    return Listing(folder, folders, files, frozenset(marks))


def lstat_below(top: str, path: str) -> os.stat_result | None:
    """Return the lstat result of `path`, or None if it is missing or inaccessible."""
    try:
        return os.lstat(f"{top}/{path}")
    except (OSError, ValueError):  # ValueError: NUL in the path
        return None


def is_source(top: str, path: str) -> bool:
    """Return True if `path` is a regular file, or a link of which only the text counts.

    The links that editors make to lock a file have names like `.#app.py`.
    """
    about = lstat_below(top, path)
    is_lock = path.rpartition("/")[2].startswith(".")
    is_link = about is not None and st.S_ISLNK(about.st_mode) and not is_lock
    return about is not None and (st.S_ISREG(about.st_mode) or is_link)


def is_folder(top: str, path: str) -> bool:
    """Return True if `path` is a folder and not a symbolic link."""
    about = lstat_below(top, path)
    return about is not None and st.S_ISDIR(about.st_mode)


def marks_in(top: str, folder: str) -> frozenset[str]:
    """Return the `MARKS` that exist in a folder. The folder is not listed."""
    prefix = f"{folder}/" if folder else ""
    return frozenset(name for name in MARKS if lstat_below(top, prefix + name) is not None)


def with_ancestors(folder: str) -> list[str]:
    """Return the ancestors of `folder`, from the root (`""`) down, followed by `folder` itself."""
    chain = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        chain.append(folder)
    return chain[::-1]
