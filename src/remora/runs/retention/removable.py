"""Items that `clean` can remove, and the result of removing them."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from remora.errors import RemoraError

Kind = Literal["workspace", "base", "ref", "run", "stream", "contents", "conflict", "clone", "hub"]


class Removable(msgspec.Struct, frozen=True, kw_only=True):
    """An item that can be removed. `bytes` is its size."""

    kind: Kind
    name: str
    bytes: int = 0


Removal = tuple[Removable, Callable[[], int | None]]
"""A removable item and the function that removes it, which may raise OSError or RemoraError.

The function returns the number of freed bytes if it is not the size of the item.
"""


class CleanResult(msgspec.Struct, frozen=True, kw_only=True):
    """The removed items, or the items that would be removed if `dry_run` is True.

    `kept` contains each run whose files are still needed, with the reason.
    """

    dry_run: bool
    removed: tuple[Removable, ...]
    kept: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(found.bytes for found in self.removed)


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
