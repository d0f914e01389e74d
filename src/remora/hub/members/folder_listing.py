"""Listing of one folder, as far as membership depends on it."""

import os
import stat as st
from typing import NamedTuple

MARKS = frozenset({".gitignore", ".git", "pyvenv.cfg"})
"""Names whose coming or going changes which files belong."""


class Listing(NamedTuple):
    """Entries of one folder by their paths below the root; links are neither."""

    folder: str
    folders: list[str]
    files: list[tuple[str, "os.DirEntry[str]"]]
    """Regular files with a Python name."""
    marks: frozenset[str]


def list_folder(top: str, folder: str) -> Listing | None:
    """The listing of a folder below `top`; None if it cannot be had."""
    prefix = f"{folder}/" if folder else ""
    folders: list[str] = []
    files: list[tuple[str, os.DirEntry[str]]] = []
    marks: list[str] = []
    try:
        with os.scandir(f"{top}/{prefix}") as entries:
            for entry in entries:
                name = entry.name
                if name in MARKS:
                    marks.append(name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(prefix + name)
                elif name.endswith(".py") and entry.is_file(follow_symlinks=False):
                    files.append((prefix + name, entry))
    except OSError:
        return None
    return Listing(folder, folders, files, frozenset(marks))


def look(top: str, path: str) -> os.stat_result | None:
    """What stands at `path` itself; None if there is nothing, or nobody may know."""
    try:
        return os.lstat(f"{top}/{path}")
    except (OSError, ValueError):  # ValueError: it holds NUL
        return None


def is_folder(top: str, path: str) -> bool:
    """Whether `path` is a folder, and no link to one."""
    about = look(top, path)
    return about is not None and st.S_ISDIR(about.st_mode)


def marks_in(top: str, folder: str) -> frozenset[str]:
    """The marks in a folder, without listing it."""
    prefix = f"{folder}/" if folder else ""
    return frozenset(name for name in MARKS if look(top, prefix + name) is not None)


def those_above(folder: str) -> list[str]:
    """The folders on the way to `folder`, itself included, from the root (`""`) down."""
    chain = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        chain.append(folder)
    return chain[::-1]
