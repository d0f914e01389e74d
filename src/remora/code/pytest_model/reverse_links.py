"""Cache of the callers and importers of nodes, for many queries about one state of the code."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.links import Edge
from remora.ids import MODULE, node_key

_REVERSE_AFTER_QUERIES, _MAX_REVERSED_NODES = 12, 12_000
"""Minimum number of queries, and maximum number of nodes in the project, for reversing all links.
Reversing takes about 1 ms per node."""


class KnownLinks(Protocol):
    """Stored links of the program being searched. The methods return None if the links are not
    stored.
    """

    def callers(self, key: str) -> tuple[Edge, ...] | None:
        """Return the stored result of `Linker.callers`."""

    def callees(self, key: str) -> tuple[Edge, ...] | None:
        """Return the stored result of `Linker.callees`."""

    def importers(self, key: str) -> tuple[Edge, ...] | None:
        """Return the stored result of `Linker.importers`."""


class ReverseLinks:
    """The callers and importers of nodes. Links that are not stored are computed and cached."""

    def __init__(self, linker: Linker, program: Program, known: KnownLinks | None = None) -> None:
        self._linker = linker
        self._program = program
        self._known = known
        self._importers: dict[str, tuple[Edge, ...]] = {}
        self._callers: dict[str, tuple[Edge, ...]] = {}
        self._reversed: dict[str, list[Edge]] | None = None
        self._tried_to_reverse = False
        self.may_reverse = True
        """False if reversing all links would take too long."""

    def importers(self, key: str) -> tuple[Edge, ...]:
        known = None if self._known is None else self._known.importers(key)
        if known is not None:
            return known
        if key not in self._importers:
            self._importers[key] = self._linker.importers(key)
        return self._importers[key]

    def callers(self, key: str) -> Sequence[Edge]:
        """Return the callers of a node in any order.

        After many queries, the callers of all nodes are computed together to save time.
        """
        known = None if self._known is None else self._known.callers(key)
        if known is not None:
            return known
        is_due = self.may_reverse and not self._tried_to_reverse
        if is_due and len(self._callers) >= _REVERSE_AFTER_QUERIES:
            self._reversed = self._reverse()
            self._tried_to_reverse = True
        if self._reversed is not None:
            return self._reversed.get(key, ())
        if key not in self._callers:
            self._callers[key] = self._linker.callers(key)
        return self._callers[key]

    def _reverse(self) -> dict[str, list[Edge]] | None:
        """Return the callers of every node, or None if there are too many nodes."""
        keys = list(itertools.islice(self._keys(), _MAX_REVERSED_NODES + 1))
        if len(keys) > _MAX_REVERSED_NODES:
            return None
        callers: dict[str, list[Edge]] = {}
        for caller in keys:
            for edge in self._linker.callees(caller):
                found = Edge(key=caller, tier=edge.tier, lines=edge.lines)
                callers.setdefault(edge.key, []).append(found)
        return callers

    def _keys(self) -> Iterator[str]:
        """Yield the keys of all nodes that may contain calls."""
        for path in sorted(self._program.paths()):
            lowered = self._program.lowered(path)
            scopes = lowered.scopes if lowered is not None else ()
            for qualname in dict.fromkeys((MODULE, *(scope.qualname for scope in scopes))):
                yield node_key(path, qualname)
