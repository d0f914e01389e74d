"""Edits of a text, by offsets of its characters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """Replaces the characters from `start` up to `end` with `text`."""

    start: int
    end: int
    text: str


def overlap(first: Sequence[Edit], second: Sequence[Edit]) -> bool:
    """Return True if two fixes change the same characters or insert at the same position.

    Identical fixes do not overlap, because applying either of them applies both. For the same
    reason, two fixes may add the same import.
    """
    shared = set(first) & set(second)
    if shared == set(first) == set(second):
        return False
    imports = {edit for edit in shared if edit.start == edit.end and "import " in edit.text}
    return any(
        _edits_touch(a, b) for a in first for b in second if a not in imports or b not in imports
    )


def overlapping(fixes: Mapping[int, Sequence[Edit]]) -> dict[int, set[int]]:
    """Return the numbers of the fixes that each fix overlaps, and nothing for one that overlaps none.

    Only fixes whose spans touch are compared: a file may have thousands.
    """
    spans = sorted(
        (min(edit.start for edit in edits), max(edit.end for edit in edits), number)
        for number, edits in fixes.items()
        if edits
    )
    found: dict[int, set[int]] = {}
    near: list[tuple[int, int]] = []
    for start, end, number in spans:
        near = [(last, other) for last, other in near if last >= start]
        for _, other in near:
            if overlap(fixes[number], fixes[other]):
                found.setdefault(number, set()).add(other)
                found.setdefault(other, set()).add(number)
        near.append((end, number))
    return found


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
