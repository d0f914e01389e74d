"""Line-based three-way merge of a single file. All functions are pure and work on bytes."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from remora.workspaces.apply.line_diff import Hunk, diff_hunks, split_lines


class LineConflict(msgspec.Struct, frozen=True, kw_only=True):
    """Range of base lines that both sides changed."""

    start: int
    """The first line, counted from 1."""
    end: int
    """The line after the last one. Equal to `start` if both sides inserted lines there."""
    ours: bytes
    """The lines that one side has in their place."""
    theirs: bytes
    """The lines that the other side has in their place."""


def merge3(base: bytes, ours: bytes, theirs: bytes) -> bytes | tuple[LineConflict, ...]:
    r"""Merge two changes to the same base. Return the merged text, or the conflicts if there are any.

    Changes to different base lines are merged, even if the lines are adjacent. If both sides made
    the same change, it is applied once. Different insertions at the same position are a conflict,
    and so are different changes to the same line. Lines end with `\n`.
    """
    out, conflicts = _merged_lines(base, ours, theirs, lambda _: b"")
    if not conflicts and any(not line.endswith(b"\n") for line in out[:-1]):
        # one side removed the last newline, the other one appended lines after it
        end = len(split_lines(base))
        conflicts.append(LineConflict(start=end, end=end + 1, ours=ours, theirs=theirs))
    return tuple(conflicts) or b"".join(out)


def resolve3(
    base: bytes, ours: bytes, theirs: bytes, choose: Callable[[LineConflict], bytes]
) -> bytes:
    """Merge two changes to the same base, with what `choose` returns for each conflict.

    Each line but the last ends with a newline.
    """
    out = [part for part in _merged_lines(base, ours, theirs, choose)[0] if part]
    return b"".join([*map(ended, out[:-1]), *out[-1:]])


def ended(lines: bytes) -> bytes:
    """Return lines of which the last one ends with a newline, too."""
    return lines if lines.endswith(b"\n") or not lines else lines + b"\n"


def _merged_lines(
    base: bytes, ours: bytes, theirs: bytes, choose: Callable[[LineConflict], bytes]
) -> tuple[list[bytes], list[LineConflict]]:
    old = split_lines(base)
    our_hunks = diff_hunks(old, split_lines(ours))
    their_hunks = diff_hunks(old, split_lines(theirs))
    out: list[bytes] = []
    conflicts: list[LineConflict] = []
    at = 0
    for start, end, our_part, their_part in _regions(our_hunks, their_hunks):
        out += old[at:start]
        mine, yours = (apply_hunks(old, start, end, part) for part in (our_part, their_part))
        if not their_part or mine == yours:
            out += mine
        elif not our_part:
            out += yours
        else:
            text = b"".join(mine), b"".join(yours)
            conflict = LineConflict(start=start + 1, end=end + 1, ours=text[0], theirs=text[1])
            conflicts.append(conflict)
            out += [choose(conflict)]
        at = end
    return [*out, *old[at:]], conflicts


def shared_hunks(base: bytes, ours: bytes, theirs: bytes) -> list[Hunk]:
    """Return the changes from `base` to `theirs` that `ours` contains too."""
    old = split_lines(base)
    regions = _regions(diff_hunks(old, split_lines(ours)), diff_hunks(old, split_lines(theirs)))
    return [
        hunk
        for start, end, our_part, their_part in regions
        if apply_hunks(old, start, end, our_part) == apply_hunks(old, start, end, their_part)
        for hunk in their_part
    ]


_Region = tuple[int, int, list[Hunk], list[Hunk]]


def _regions(left: Sequence[Hunk], right: Sequence[Hunk]) -> Iterator[_Region]:
    """Group the hunks of both sides into regions that must be merged together, in the order of the
    base.
    """
    marked = [(hunk, False) for hunk in left] + [(hunk, True) for hunk in right]
    # an insertion sorts before lines that start at its position
    marked.sort(key=lambda item: (item[0].start, item[0].end, item[1]))
    region: list[tuple[Hunk, bool]] = []
    for item in marked:
        if region and not any(_overlap(item, other) for other in region):
            yield _as_region(region)
            region = []
        region.append(item)
    if region:
        yield _as_region(region)


def _as_region(region: list[tuple[Hunk, bool]]) -> _Region:
    our_part = [hunk for hunk, is_right in region if not is_right]
    their_part = [hunk for hunk, is_right in region if is_right]
    hunks = [*our_part, *their_part]
    return min(h.start for h in hunks), max(h.end for h in hunks), our_part, their_part


def _overlap(item: tuple[Hunk, bool], other: tuple[Hunk, bool]) -> bool:
    (hunk, side), (other_hunk, other_side) = item, other
    if side == other_side:
        return False
    if hunk.start == hunk.end == other_hunk.start == other_hunk.end:
        return True
    if hunk.start < other_hunk.end and other_hunk.start < hunk.end:
        return True
    # adjacent hunks are merged unless an insertion would be repeated
    inserted, replaced = (hunk, other_hunk) if hunk.start == hunk.end else (other_hunk, hunk)
    if inserted.start != inserted.end:
        return False
    count = len(inserted.lines)
    at_start = inserted.start == replaced.start and replaced.lines[:count] == inserted.lines
    at_end = inserted.start == replaced.end and replaced.lines[-count:] == inserted.lines
    return at_start or at_end


def apply_hunks(old: Sequence[bytes], start: int, end: int, changed: Sequence[Hunk]) -> list[bytes]:
    """Return the lines from `start` to `end` after the hunks, which are in these lines."""
    out: list[bytes] = []
    at = start
    for hunk in changed:
        out += [*old[at : hunk.start], *hunk.lines]
        at = hunk.end
    return out + list(old[at:end])
