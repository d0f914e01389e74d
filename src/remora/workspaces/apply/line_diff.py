"""Line diff that returns the hunks between two versions of a file."""

import bisect
import difflib
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from operator import eq

import msgspec

_MAX_PAIRS = 4_000_000  # an exact comparison of more line pairs takes seconds

_Lines = Sequence[bytes]
_Pair = tuple[int, int]


class Hunk(msgspec.Struct, frozen=True):
    """Replacement of the old lines from `start` to `end` with `lines`.

    Line numbers start at 0, and `end` is exclusive.
    """

    start: int
    end: int
    lines: tuple[bytes, ...]


def split_lines(content: bytes) -> list[bytes]:
    r"""Split content into lines that end with `\n`.

    The last line does not have to end with `\n`.
    """
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def diff_hunks(old: _Lines, new: _Lines) -> list[Hunk]:
    """Return the hunks in order. Two hunks are always separated by unchanged lines.

    If a hunk could be at several positions, the last position is used. This ensures that the same
    change on both sides produces equal hunks.
    """
    found: list[Hunk] = []
    at_old = at_new = 0
    for old_line, new_line in [*equal_lines(old, new), (len(old), len(new))]:
        if (old_line, new_line) != (at_old, at_new):
            found.append(Hunk(at_old, old_line, tuple(new[at_new:new_line])))
        at_old, at_new = old_line + 1, new_line + 1
    return _normalize(old, found)


def new_lines(old: bytes, new: bytes) -> frozenset[int]:
    """Return the numbers of the lines of `new` that are new or different. They count from 1."""
    found: set[int] = set()
    moved = 0
    for hunk in diff_hunks(split_lines(old), split_lines(new)):
        first = hunk.start + moved + 1
        found.update(range(first, first + len(hunk.lines)))
        moved += len(hunk.lines) - (hunk.end - hunk.start)
    return frozenset(found)


def _normalize(old: _Lines, found: list[Hunk]) -> list[Hunk]:
    """Move each hunk down as far as possible, and merge adjacent hunks."""
    done: list[Hunk] = []
    for hunk in reversed(found):
        moved = _move_down(old, hunk, done[-1].start if done else len(old))
        while done and moved.end == done[-1].start:
            next_hunk = done.pop()
            moved = Hunk(moved.start, next_hunk.end, moved.lines + next_hunk.lines)
            moved = _move_down(old, moved, done[-1].start if done else len(old))
        done.append(moved)
    return done[::-1]


def _move_down(old: _Lines, hunk: Hunk, limit: int) -> Hunk:
    start, end, lines = hunk.start, hunk.end, hunk.lines
    steps = 0
    if start == end:
        while end + steps < limit and old[end + steps] == lines[steps % len(lines)]:
            steps += 1
        turned = steps % len(lines)
        lines = lines[turned:] + lines[:turned]
    elif not lines:
        while end + steps < limit and old[start + steps] == old[end + steps]:
            steps += 1
    return Hunk(start + steps, end + steps, lines) if steps else hunk


def equal_lines(old: _Lines, new: _Lines, old_at: int = 0, new_at: int = 0) -> list[_Pair]:
    """Return index pairs of unchanged lines, in ascending order, from these numbers on.

    Common lines at the start and the end are matched first, and then lines that occur exactly once
    on each side. The remaining lines are compared.
    """
    head = common_lines(old, new)
    tail = common_lines(old[head:][::-1], new[head:][::-1])
    ends = len(old) - tail, len(new) - tail
    found = [(old_at + i, new_at + i) for i in range(head)]
    found += _middle(old[head : ends[0]], new[head : ends[1]], old_at + head, new_at + head)
    return found + [(old_at + ends[0] + i, new_at + ends[1] + i) for i in range(tail)]


def common_lines(old: _Lines, new: _Lines) -> int:
    """Return the number of first lines that are equal."""
    return sum(1 for _ in takewhile(bool, map(eq, old, new)))


def _middle(old: _Lines, new: _Lines, old_at: int, new_at: int) -> list[_Pair]:
    if not old or not new:
        return []
    if not (anchors := _longest_rising(_unique(old, new))):
        return [(old_at + i, new_at + j) for i, j in _compare_lines(old, new)]
    found: list[_Pair] = []
    i = j = 0
    for old_line, new_line in [*anchors, (len(old), len(new))]:
        found += equal_lines(old[i:old_line], new[j:new_line], old_at + i, new_at + j)
        if old_line < len(old):
            found.append((old_at + old_line, new_at + new_line))
        i, j = old_line + 1, new_line + 1
    return found


def _unique(old: _Lines, new: _Lines) -> list[_Pair]:
    """Return index pairs of lines that occur exactly once on each side, in the order of the old
    lines.
    """
    in_old, in_new = Counter(old), Counter(new)
    where = {line: j for j, line in enumerate(new) if in_new[line] == 1}
    return [(i, where[line]) for i, line in enumerate(old) if in_old[line] == 1 and line in where]


def _longest_rising(pairs: list[_Pair]) -> list[_Pair]:
    """Return the longest subsequence of pairs whose second numbers increase (patience sorting)."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect.bisect_left(tops, value)
        tops[pile : pile + 1] = [value]
        piles[pile : pile + 1] = [index]
        before.append(piles[pile - 1] if pile else -1)
    chain: list[_Pair] = []
    index = piles[-1] if piles else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _compare_lines(old: _Lines, new: _Lines) -> list[_Pair]:
    in_place = [(i, i) for i, (a, b) in enumerate(zip(old, new, strict=False)) if a == b]
    if len(old) * len(new) > _MAX_PAIRS:
        return in_place if len(old) == len(new) else []
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    found = [(a + i, b + i) for a, b, size in blocks for i in range(size)]
    # among repeated lines, an edit in place must not look like a move
    return in_place if len(old) == len(new) and len(in_place) >= len(found) else found
