"""Hunks of a change: the places that it changes, which can be accepted one by one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

import msgspec

from remora.workspaces.apply.line_diff import Hunk, diff_hunks, split_lines
from remora.workspaces.apply.merge_change_set import FilePatch, PreparedChanges
from remora.workspaces.apply.merge_lines import apply_hunks, shared_hunks
from remora.workspaces.copy.changes import content_diff, diff, hunks_text, is_text, unified_lines

_lines = lru_cache(maxsize=1)(split_lines)  # for all hunks of a file


class ChangeHunk(msgspec.Struct, frozen=True, kw_only=True):
    """One place that a change set changes. At least one unchanged line separates two hunks.

    A new, deleted or binary file is one hunk.
    """

    number: int
    """Counts the hunks of the change set from 1."""
    path: str
    line: int
    """The first changed line in the old version of the file, counted from 1."""
    diff: str
    """A unified diff with three lines of context, as if no other hunk were applied.

    Of hunks with the same `block`, the first has the diff of all, and the others have none.
    """
    block: int = 0
    """Number of the first of the hunks of a block, such as a `try`, that change it together."""
    group: int = 0
    """Number of the hunks that need each other, if these are known."""
    label: str = ""
    """Name of the hunks that need each other."""

    @property
    def lines(self) -> range:
        """The lines of the old version that are replaced or deleted, or the one that is next."""
        removed = sum(line.startswith("-") for line in self.diff.splitlines())
        return range(self.line, self.line + max(1, removed))


def hunk_count(patches: Sequence[FilePatch]) -> int:
    """Return the number of hunks of a change set."""
    return sum(1 for _ in divided(patches))


def changed_lines(patches: Sequence[FilePatch]) -> tuple[int, int]:
    """Return the numbers of lines that a change set adds and deletes."""
    parts = [
        hunk or Hunk(0, len(split_lines(patch.base or b"")), (*split_lines(patch.theirs or b""),))
        for patch, hunk in divided(patches)
    ]
    return sum(len(hunk.lines) for hunk in parts), sum(hunk.end - hunk.start for hunk in parts)


def separate_hunks(hunks: Sequence[ChangeHunk]) -> list[list[ChangeHunk]]:
    """Return the hunks that are decided together: those of each group, or each block of a single
    group.
    """
    has_groups = len({hunk.group for hunk in hunks}) > 1
    known = {hunk.number: hunk.group if has_groups else hunk.block or hunk.number for hunk in hunks}
    in_order = sorted(hunks, key=lambda hunk: known[hunk.number])
    return [list(group) for _, group in groupby(in_order, key=lambda hunk: known[hunk.number])]


def group_text(group: Sequence[ChangeHunk]) -> str:
    """Return what hunks that belong together are for, such as `F401 (hunks 1 to 2)`."""
    return f"{group[0].label} ({hunks_text([hunk.number for hunk in group])})"


def hunks_of(patches: Sequence[FilePatch]) -> list[ChangeHunk]:
    """Return the hunks of a change set, in the order of its diff."""
    return [
        ChangeHunk(
            number=number,
            path=patch.path,
            line=1 if hunk is None else hunk.start + 1,
            diff=_diff(patch, hunk),
        )
        for number, (patch, hunk) in enumerate(divided(patches), 1)
    ]


def joint_diff(patches: Sequence[FilePatch], numbers: Collection[int]) -> str:
    """Return the unified diff of some hunks of one file, without the names of the file."""
    parts = [part for number, part in enumerate(divided(patches), 1) if number in numbers]
    hunks = [hunk for _, hunk in parts if hunk is not None]
    return b"".join(unified_lines(_lines(parts[0][0].base or b""), hunks)).decode()


def named_diff(patches: Sequence[FilePatch], names: Mapping[int, str]) -> str:
    """Return the diff of the hunks in `names`, with their numbers and names."""
    found = ""
    for patch, parts in groupby(enumerate(divided(patches), 1), key=lambda part: part[1][0]):
        kept = {hunk: f"hunk {n}: {names[n]}" for n, (_, hunk) in parts if n in names}
        if kept:
            theirs = _apply(patch, [*kept])
            found += diff(patch.path, patch.base, theirs, mode=patch.mode, names=kept)
    return found


def with_hunks(patches: Sequence[FilePatch], numbers: Collection[int]) -> list[FilePatch]:
    """Return the patches with only these hunks. A file without any of them is left out."""
    kept: dict[str, list[Hunk | None]] = {}
    for number, (patch, hunk) in enumerate(divided(patches), 1):
        if number in numbers:
            kept.setdefault(patch.path, []).append(hunk)
    return [
        msgspec.structs.replace(patch, theirs=_apply(patch, kept[patch.path]))
        for patch in patches
        if patch.path in kept
    ]


def present_hunks(patches: Sequence[FilePatch], prepared: PreparedChanges) -> tuple[int, ...]:
    """Return the numbers of the hunks that the user's files contain, so that nothing is written."""
    ours = {write.path: write.ours for write in prepared.writes}
    shared = {
        patch.path: shared_hunks(patch.base, found, patch.theirs)
        for patch in patches
        if (found := ours.get(patch.path)) is not None
        and patch.base is not None
        and patch.theirs is not None
    }
    return tuple(
        number
        for number, (patch, hunk) in enumerate(divided(patches), 1)
        if patch.path not in ours or hunk in shared.get(patch.path, ())
    )


def divided(patches: Sequence[FilePatch]) -> Iterator[tuple[FilePatch, Hunk | None]]:
    """Yield each hunk with its patch. The hunk is None if the file cannot be divided."""
    for patch in patches:
        if patch.base == patch.theirs:
            continue
        is_divisible = is_text(patch.base or b"") and is_text(patch.theirs or b"")
        if patch.base is None or patch.theirs is None or not is_divisible:
            yield patch, None
            continue
        for hunk in _line_hunks(patch.base, patch.theirs):
            yield patch, hunk


@lru_cache(maxsize=128)  # each file is divided for its groups, its hunks and their number
def _line_hunks(base: bytes, theirs: bytes) -> list[Hunk]:
    return diff_hunks(split_lines(base), split_lines(theirs))


def _apply(patch: FilePatch, hunks: Sequence[Hunk | None]) -> bytes | None:
    parts = [hunk for hunk in hunks if hunk is not None]
    if len(parts) < len(hunks):
        return patch.theirs
    old = split_lines(patch.base or b"")
    return b"".join(apply_hunks(old, 0, len(old), parts))


def _diff(patch: FilePatch, hunk: Hunk | None) -> str:
    if hunk is not None:
        return b"".join(unified_lines(_lines(patch.base or b""), [hunk])).decode()
    text = content_diff(patch.path, patch.base, patch.theirs)
    return text[text.find("@@") :] if text.startswith("---") and "@@" in text else text
