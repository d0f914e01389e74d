"""Edits of a text, by offsets of its characters."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple


class Edit(NamedTuple):
    """Replaces the characters from `start` up to `end` with `text`."""

    start: int
    end: int
    text: str


_Fix = frozenset[Edit]


def overlap(first: Collection[Edit], second: Collection[Edit]) -> bool:
    """Return True if two fixes change the same characters or insert at the same position.

    Identical fixes do not overlap, because applying either of them applies both. For the same
    reason, two fixes may add the same import.
    """
    shared = set(first) & set(second)
    if shared == set(first) == set(second):
        return False
    imports = {*filter(_adds_import, shared)}
    return any(
        _edits_touch(a, b) for a in first for b in second if a not in imports or b not in imports
    )


def overlapping(fixes: Iterable[Iterable[Edit]]) -> Mapping[_Fix, set[_Fix]]:
    """Return the fixes that each fix overlaps, and nothing for one that overlaps none.

    Only different fixes are compared, and only if their edits touch: a file may have thousands.
    """
    found = defaultdict[_Fix, set[_Fix]](set)
    for first, second in _near({*map(frozenset, fixes)}):
        if overlap(first, second):
            found[first].add(second)
            found[second].add(first)
    return found


def apart(fixes: Sequence[Sequence[Edit]]) -> list[int]:
    """Return the numbers of the fixes that do not overlap an earlier one of them, from 0."""
    overlaps, taken, chosen = overlapping(fixes), set[_Fix](), list[int]()
    for number, fix in enumerate(map(frozenset, fixes)):
        if taken.isdisjoint(overlaps.get(fix, ())):
            chosen.append(number)
            taken.add(fix)
    return chosen


def _near(fixes: Iterable[_Fix]) -> Iterator[tuple[_Fix, _Fix]]:
    """Yield the fixes with edits that touch, other than two that only add the same import."""
    owners = defaultdict[Edit, list[_Fix]](list)
    for fix in fixes:
        for edit in fix:
            owners[edit].append(fix)
    near: list[Edit] = []
    for edit in sorted(owners):
        near = [other for other in near if other.end >= edit.start]
        for other in near if _adds_import(edit) else (*near, edit):
            yield from product(owners[edit], owners[other])
        near.append(edit)


def _adds_import(edit: Edit) -> bool:
    return edit.start == edit.end and "import " in edit.text


def _edits_touch(a: Edit, b: Edit) -> bool:
    if a.start == a.end or b.start == b.end:  # an insertion overlaps what it touches
        return a.start <= b.end and b.start <= a.end
    return a.start < b.end and b.start < a.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits that do not overlap. Edits at one offset keep their order.

    An edit that occurs several times is applied only once.
    """
    parts, last = [], 0
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        parts += [text[last : edit.start], edit.text]
        last = edit.end
    return "".join([*parts, text[last:]])
