"""Finds the annotations among several that add no diagnostic, with few runs of a type checker."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from remora.operations.types.project_index import ProjectIndex
from remora.operations.types.slots import Slot
from remora.operations.types.type_checker import Diagnostic

Terms = dict[tuple[str, Slot], str]
"""The canonical type of each slot, with the path of its file."""


def settle(
    chosen: Terms, base: Terms, index: ProjectIndex, added_by: Callable[[Terms], list[Diagnostic]]
) -> Terms:
    """Return the annotations of `chosen` that add no diagnostic together, given those of `base`.

    `added_by` returns the diagnostics that some annotations add. All annotations are tried at once.
    If they add diagnostics, those that may be the cause are tried apart from the others.
    """
    accepted: Terms = {}
    waiting = [chosen]
    while waiting:
        group = waiting.pop()
        added = added_by(base | accepted | group) if group else []
        if not added:
            accepted |= group
        elif len(group) > 1:
            waiting += _split(group, added, index)
    return accepted


def _split(group: Terms, added: Iterable[Diagnostic], index: ProjectIndex) -> list[Terms]:
    """Split annotations in two: the last part is free of suspects if there are others."""
    suspects = _Suspects(index, added)
    blamed = {key: term for key, term in group.items() if suspects.include(*key)}
    rest = {key: term for key, term in group.items() if key not in blamed}
    if blamed and rest:
        return [blamed, rest]
    items = list(group.items())
    half = len(items) // 2
    return [dict(items[:half]), dict(items[half:])]


class _Suspects:
    """Functions that new diagnostics may be due to: around them, or named by them."""

    def __init__(self, index: ProjectIndex, added: Iterable[Diagnostic]) -> None:
        self._index = index
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._words: set[str] = set()
        for each in added:
            self._lines[each.path].add(each.line)
            self._words |= set(re.findall(r"\w+", each.message))
            file = index.files.get(each.path)
            if file is not None and 0 < each.line <= len(file.source.lines):
                self._words |= set(re.findall(r"\w+(?=\()", file.source.lines[each.line - 1]))

    def include(self, path: str, slot: Slot) -> bool:
        function = self._index.files[path].functions[slot.number]
        node = function.node
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if any(line in lines for line in self._lines.get(path, ())):
            return True
        owner = function.owner.name.rpartition(".")[2] if function.owner else ""
        is_constructor = function.short == "__init__" and owner in self._words
        return function.short in self._words or is_constructor
