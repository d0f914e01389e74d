"""Items that `clean` can remove, and the result of removing them."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from remora.errors import RemoraError

Kind = Literal["workspace", "base", "ref", "run", "stream", "contents", "conflict", "clone", "hub"]


class Removable(msgspec.Struct, frozen=True, kw_only=True):
    """An item that can be removed."""

    kind: Kind
    name: str
    """A path, an ID or another name."""
    bytes: int = 0
    """The size of the item."""


Removal = tuple[Removable, Callable[[], int | None]]
"""A removable item and the function that removes it, which may raise OSError or RemoraError.

The function returns the number of freed bytes if it is not the size of the item.
"""


def folder_removal(
    kind: Kind, place: Path, remove: Callable[..., None], *arguments: object
) -> Removal:
    """Return the removal of a folder, which calls `remove` with it and the arguments."""
    what = Removable(kind=kind, name=str(place), bytes=size_of(place))
    return what, partial(remove, place, *arguments)


def size_of(place: Path) -> int:
    """Return the disk usage in bytes of all readable files under `place`."""
    total, waiting = 0, [str(place)]
    while waiting:  # os.walk recurses, and folders may be nested thousands deep
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


class CleanResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of removing items."""

    dry_run: bool
    """True if nothing was removed."""
    removed: tuple[Removable, ...]
    """The removed items, or those that would be removed."""
    kept: tuple[tuple[str, str], ...]
    """The runs whose files are still needed, each with the reason."""
    problems: tuple[str, ...]
    """Why items could not be removed."""

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.removed)


def remove_all(
    acts: Iterable[Removal], kept: tuple[tuple[str, str], ...] = (), *, dry_run: bool = False
) -> CleanResult:
    """Remove all items. Failures are collected as `problems` and do not stop the removal."""
    removed: list[Removable] = []
    problems: list[str] = []
    for what, remove in acts:
        try:
            freed = None if dry_run else remove()
            removed.append(what if freed is None else replace(what, bytes=freed))
        except (OSError, RemoraError) as error:
            problems.append(f"{what.name}: {error}")
    return CleanResult(dry_run=dry_run, removed=tuple(removed), kept=kept, problems=tuple(problems))
