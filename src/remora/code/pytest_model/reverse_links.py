"""Links followed backwards, for questions that ask for many of one state of the code."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.links import Edge
from remora.ids import MODULE, node_key

_MANY, _MODERATE = 12, 12_000
"""Nodes whose callers were asked for, and all nodes, from and up to which all links are turned
around: that takes about 1 ms for each."""


class KnownLinks(Protocol):
    """What a linker said of the same program before; None where that is not known just now."""

    def callers(self, key: str) -> tuple[Edge, ...] | None:
        """As `Linker.callers`."""

    def callees(self, key: str) -> tuple[Edge, ...] | None:
        """As `Linker.callees`."""

    def importers(self, key: str) -> tuple[Edge, ...] | None:
        """As `Linker.importers`."""


class ReverseLinks:
    """Callers and importers: as they are known, else what the linker says, kept as long as it."""

    def __init__(self, linker: Linker, program: Program, known: KnownLinks | None = None) -> None:
        self._linker = linker
        self._program = program
        self._known = known
        self._importers: dict[str, tuple[Edge, ...]] = {}
        self._callers: dict[str, tuple[Edge, ...]] = {}
        self._turned: dict[str, list[Edge]] | None = None
        self._is_tried = False

    def importers(self, key: str) -> tuple[Edge, ...]:
        """Modules that import the node."""
        known = None if self._known is None else self._known.importers(key)
        if known is not None:
            return known
        if key not in self._importers:
            self._importers[key] = self._linker.importers(key)
        return self._importers[key]

    def callers(self, key: str) -> Sequence[Edge]:
        """In any order. Where many are asked for in a project of moderate size, what everything
        calls is found quicker, and then turned around."""
        known = None if self._known is None else self._known.callers(key)
        if known is not None:
            return known
        if not self._is_tried and len(self._callers) >= _MANY:
            self._turned = self._turn()
            self._is_tried = True
        if self._turned is not None:
            return self._turned.get(key, ())
        if key not in self._callers:
            self._callers[key] = self._linker.callers(key)
        return self._callers[key]

    def _turn(self) -> dict[str, list[Edge]] | None:
        """The callers of every node; None where they are too many."""
        keys = list(itertools.islice(self._keys(), _MODERATE + 1))
        if len(keys) > _MODERATE:
            return None
        turned: dict[str, list[Edge]] = {}
        for caller in keys:
            for edge in self._linker.callees(caller):
                found = Edge(key=caller, tier=edge.tier, lines=edge.lines)
                turned.setdefault(edge.key, []).append(found)
        return turned

    def _keys(self) -> Iterator[str]:
        """Of every node that may call."""
        for path in sorted(self._program.paths()):
            lowered = self._program.lowered(path)
            scopes = lowered.scopes if lowered is not None else ()
            for qualname in dict.fromkeys((MODULE, *(scope.qualname for scope in scopes))):
                yield node_key(path, qualname)
