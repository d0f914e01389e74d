"""Which tests exercise a node, as far as the code itself can tell."""

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.links import TIERS, Related
from remora.code.pytest_model.pytest_file import pytest_id
from remora.code.pytest_model.pytest_project import PytestProject
from remora.code.pytest_model.reverse_links import KnownLinks, ReverseLinks
from remora.code.pytest_model.test_naming import tests_named_after
from remora.code.pytest_model.test_search import CallerSearch

DEPTH = 10
"""Calls between a test and a node at most."""


class RelatedTests:
    """Asked about one state of the code; what was found out is kept for the next question."""

    def __init__(self, linker: Linker, program: Program, known: KnownLinks | None = None) -> None:
        self._linker = linker
        self._program = program
        self._backlinks = ReverseLinks(linker, program, known)
        self._suites = PytestProject(linker, program)

    def of(self, key: str, *, depth: int = DEPTH) -> tuple[Related, ...]:
        """Tests that call the node, through at most `depth` calls, fixtures included; that mention
        what they import of it; and that are named after it.

        The tier is that of the weakest link in between; by name alone it is `unique`. Sorted by tier,
        of these the nearest first; an unknown node has none.
        """
        walk = CallerSearch(self._linker, self._program, self._backlinks, self._suites, depth=depth)
        walk.to(key)
        for suite, test in tests_named_after(self._program, self._suites, key):
            walk.found.test(TIERS.index("unique"), depth, suite, test)
        best: dict[str, tuple[int, int]] = {}
        for (path, qualname), place in walk.found.places.items():
            test = pytest_id(path, qualname)
            best[test] = min(place, best.get(test, place))
        nearest = sorted(best.items(), key=lambda item: item[::-1])
        return tuple(Related(id=test, tier=TIERS[rank]) for test, (rank, _) in nearest)
