"""Line diff: the hunks between two versions of a file."""

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec

_MAX_PAIRS = 4_000_000  # beyond this many line pairs an exact comparison takes seconds

_Lines = Sequence[bytes]
_Pair = tuple[int, int]


class Hunk(msgspec.Struct, frozen=True):
    """Lines `start` to before `end` of the old version became `lines`; indexes count from 0."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def split_lines(content: bytes) -> list[bytes]:
    """Split into lines with their `\\n`; the last may lack it."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def diff_hunks(old: _Lines, new: _Lines) -> list[Hunk]:
    """Return the hunks in order, with at least one unchanged line between any two.

    If an insertion or deletion fits several places, the last one is used, so that the same change
    on two sides yields the same hunk.
    """
    found: list[Hunk] = []
    at_old = at_new = 0
    for one, other in [*_pairs(old, new, 0, 0), (len(old), len(new))]:
        if (one, other) != (at_old, at_new):
            found.append(Hunk(at_old, one, tuple(new[at_new:other])))
        at_old, at_new = one + 1, other + 1
    return _normalized(old, found)


def _normalized(old: _Lines, found: list[Hunk]) -> list[Hunk]:
    """Move each hunk down as far as possible, and merge hunks that touch."""
    done: list[Hunk] = []
    for hunk in reversed(found):
        moved = _moved_down(old, hunk, done[-1].start if done else len(old))
        while done and moved.end == done[-1].start:
            below = done.pop()
            moved = Hunk(moved.start, below.end, moved.lines + below.lines)
            moved = _moved_down(old, moved, done[-1].start if done else len(old))
        done.append(moved)
    return done[::-1]


def _moved_down(old: _Lines, hunk: Hunk, limit: int) -> Hunk:
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


def _pairs(old: _Lines, new: _Lines, old_at: int, new_at: int) -> list[_Pair]:
    """Return index pairs of unchanged lines, ascending on both sides.

    Common ends come first, then lines that occur once on both sides (so that a changed function is
    not matched to its neighbour's blank lines); only the rest is compared line by line.
    """
    head = _common(zip(old, new, strict=False))
    old_left, new_left = old[head:], new[head:]
    tail = _common(zip(reversed(old_left), reversed(new_left), strict=False))
    old_left, new_left = old_left[: len(old_left) - tail], new_left[: len(new_left) - tail]
    found = [(old_at + i, new_at + i) for i in range(head)]
    found += _middle(old_left, new_left, old_at + head, new_at + head)
    ends = len(old) - tail, len(new) - tail
    return found + [(old_at + ends[0] + i, new_at + ends[1] + i) for i in range(tail)]


def _common(pairs: Iterator[tuple[bytes, bytes]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _middle(old: _Lines, new: _Lines, old_at: int, new_at: int) -> list[_Pair]:
    if not old or not new:
        return []
    anchors = _longest_rising(_unique(old, new))
    if not anchors:
        return [(old_at + i, new_at + j) for i, j in _compare_lines(old, new)]
    found: list[_Pair] = []
    i = j = 0
    for one, other in [*anchors, (len(old), len(new))]:
        found += _pairs(old[i:one], new[j:other], old_at + i, new_at + j)
        if one < len(old):
            found.append((old_at + one, new_at + other))
        i, j = one + 1, other + 1
    return found


def _unique(old: _Lines, new: _Lines) -> list[_Pair]:
    """Return lines that occur exactly once on each side, in the old order."""
    in_old, in_new = Counter(old), Counter(new)
    where = {line: j for j, line in enumerate(new) if in_new[line] == 1}
    return [(i, where[line]) for i, line in enumerate(old) if in_old[line] == 1 and line in where]


def _longest_rising(pairs: list[_Pair]) -> list[_Pair]:
    """Return the longest run of pairs whose second numbers also increase (patience sorting)."""
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
