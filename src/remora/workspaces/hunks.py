"""Hunks of a change set: the places that it changes, which can be accepted one by one."""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from remora.workspaces.apply.line_diff import Hunk, diff_hunks, split_lines
from remora.workspaces.apply.merge_lines import shared_hunks
from remora.workspaces.apply.transaction import FilePatch, PreparedChanges
from remora.workspaces.copy.changes import content_diff, diff, is_text, unified_lines


class ChangeHunk(msgspec.Struct, frozen=True, kw_only=True):
    """One place that a change set changes. At least one unchanged line separates two hunks.

    `number` counts the hunks of the change set from 1. `line` is the first changed line in the old
    version of the file, counted from 1. `diff` is the hunk as a unified diff with three lines of
    context, as if no other hunk were applied. A new, deleted or binary file is one hunk.
    """

    number: int
    path: str
    line: int
    diff: str

    @property
    def lines(self) -> range:
        """The lines of the old version that are replaced or deleted, or the one that is next."""
        removed = sum(line.startswith("-") for line in self.diff.splitlines())
        return range(self.line, self.line + max(1, removed))


def hunks_of(patches: Sequence[FilePatch]) -> list[ChangeHunk]:
    """Return the hunks of a change set, in the order of its diff."""
    return [
        ChangeHunk(
            number=number,
            path=patch.path,
            line=1 if hunk is None else hunk.start + 1,
            diff=_diff(patch, hunk),
        )
        for number, (patch, hunk) in enumerate(_parts(patches), 1)
    ]


def numbered_diff(patches: Sequence[FilePatch]) -> str:
    """Return the diff of a change set, with the numbers of the hunks."""
    found, first = "", 1
    for patch in patches:
        found += diff(patch.path, patch.base, patch.theirs, mode=patch.mode, first_hunk=first)
        first += len(hunks_of([patch]))
    return found


def with_hunks(patches: Sequence[FilePatch], numbers: Collection[int]) -> list[FilePatch]:
    """Return the patches with only these hunks. A file without any of them is left out."""
    kept: dict[str, list[Hunk | None]] = {}
    for number, (patch, hunk) in enumerate(_parts(patches), 1):
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
        for number, (patch, hunk) in enumerate(_parts(patches), 1)
        if patch.path not in ours or hunk in shared.get(patch.path, ())
    )


def without_hunks(patches: Sequence[FilePatch], numbers: Collection[int]) -> list[FilePatch]:
    """Return the rest of the patches once these hunks are in the files."""
    base = {patch.path: patch.theirs for patch in with_hunks(patches, numbers)}
    rest = (
        msgspec.structs.replace(patch, base=base.get(patch.path, patch.base)) for patch in patches
    )
    return [patch for patch in rest if patch.base != patch.theirs]


def _parts(patches: Sequence[FilePatch]) -> Iterator[tuple[FilePatch, Hunk | None]]:
    """Yield each hunk with its patch. The hunk is None if the file cannot be divided."""
    for patch in patches:
        if patch.base == patch.theirs:
            continue
        if patch.base is None or patch.theirs is None or not _is_divisible(patch):
            yield patch, None
            continue
        for hunk in diff_hunks(split_lines(patch.base), split_lines(patch.theirs)):
            yield patch, hunk


def _is_divisible(patch: FilePatch) -> bool:
    return is_text(patch.base or b"") and is_text(patch.theirs or b"")


def _apply(patch: FilePatch, hunks: Sequence[Hunk | None]) -> bytes | None:
    old = split_lines(patch.base or b"")
    new: list[bytes] = []
    at = 0
    for hunk in hunks:
        if hunk is None:
            return patch.theirs
        new += [*old[at : hunk.start], *hunk.lines]
        at = hunk.end
    return b"".join([*new, *old[at:]])


def _diff(patch: FilePatch, hunk: Hunk | None) -> str:
    if hunk is not None:
        return b"".join(unified_lines(split_lines(patch.base or b""), [hunk])).decode()
    text = content_diff(patch.path, patch.base, patch.theirs)
    return text[text.find("@@") :] if text.startswith("---") and "@@" in text else text
