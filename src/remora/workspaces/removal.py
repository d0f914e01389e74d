"""Removing a folder with all below it, however deep it is and whatever rights its folders lack.

What runs in a private copy may nest folders deeper than a path is long, or than Python recurses:
what then cannot be removed would be in the way of every later job.
"""

import os
import secrets
import stat as st
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS = 0o700


def remove_tree(place: Path) -> None:
    """Remove the folder `place`. Raises OSError, FileNotFoundError where there is none."""
    above = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        remove_folder(os.fsencode(place.name), above)
    finally:
        os.close(above)


def remove_folder(name: bytes, above: int) -> None:
    """Remove a folder by its name in the folder that the descriptor `above` stands for.

    Folders within folders are brought up to it before they are emptied, so neither paths nor
    descriptors nor recursion grow with the depth. No link is followed. Raises OSError.
    """
    top = _opened(name, above)
    try:
        while entries := _entries(top):
            for entry, is_folder in entries:
                if is_folder:
                    _empty(entry, top)
                    os.rmdir(entry, dir_fd=top)
                else:
                    os.unlink(entry, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=above)


def _empty(name: bytes, top: int) -> None:
    """Leave nothing in a folder of `top`; folders that it holds become entries of `top`."""
    folder = _opened(name, top)
    try:
        for entry, is_folder in _entries(folder):
            if is_folder:
                os.close(_opened(entry, folder))  # to move a folder takes rights in it
                aside = os.fsencode(f".{secrets.token_hex(12)}")
                os.rename(entry, aside, src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=folder)
    finally:
        os.close(folder)


def _entries(folder: int) -> list[tuple[bytes, bool]]:
    """Names, and whether each is a folder."""
    with os.scandir(folder) as entries:
        return [(os.fsencode(one.name), one.is_dir(follow_symlinks=False)) for one in entries]


def _opened(name: bytes, above: int) -> int:
    """The folder, in which we have all rights from now on."""
    mode = os.stat(name, dir_fd=above, follow_symlinks=False).st_mode
    if not st.S_ISDIR(mode):
        raise NotADirectoryError(f"{os.fsdecode(name)} is no folder")
    if mode & _OURS != _OURS:
        os.chmod(name, _OURS, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)
