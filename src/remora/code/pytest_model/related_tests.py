"""Tests related to a node, found by static analysis."""

from collections.abc import Callable
from typing import NamedTuple

from remora.code.callgraph.files.program_protocol import OutOfTimeError, Program
from remora.code.callgraph.linker import Linker
from remora.code.links import TIERS, Related
from remora.code.pytest_model.caller_search import CallerSearch
from remora.code.pytest_model.pytest_file import pytest_id
from remora.code.pytest_model.pytest_project import PytestProject
from remora.code.pytest_model.reverse_links import KnownLinks, ReverseLinks
from remora.code.pytest_model.tests_by_name import tests_named_after

DEPTH = 10
"""Maximum number of calls between a test and a node."""


class SearchResult(NamedTuple):
    """The tests found. `complete` is False if the search was stopped before it ended.

    `damaged` is True if it was stopped by OutOfTimeError, after which the caches of the linker and
    of RelatedTests may be incomplete.
    """

    tests: tuple[Related, ...]
    complete: bool
    damaged: bool


class RelatedTests:
    """Finds tests related to a node in one state of the code. Keeps caches between calls."""

    def __init__(self, linker: Linker, program: Program, known: KnownLinks | None = None) -> None:
        self._linker = linker
        self._program = program
        self._reverse_links = ReverseLinks(linker, program, known)
        self._project = PytestProject(linker, program)

    def of(self, key: str, *, depth: int = DEPTH) -> tuple[Related, ...]:
        """Return the tests related to a node, ordered by tier, then by distance.

        A test is related if it reaches the node through at most `depth` calls (including fixtures),
        imports and uses the node, or is named after the node. The tier of a test is the tier of the
        weakest link between the test and the node. A link by name alone is `unique` if nothing else
        in the project has the name, and `possible` otherwise. An unknown node has no related tests.
        """
        return self.search(key, None, depth=depth).tests

    def search(
        self, key: str, stop: Callable[[], bool] | None, *, depth: int = DEPTH
    ) -> SearchResult:
        """Return the result of `of`, or what was found until `stop` returned True.

        The program may also end the search with OutOfTimeError. The most certain and nearest tests
        are found first. A stopped search keeps its caches, so that the next search for the node
        gets further.
        """
        self._reverse_links.may_reverse = stop is None
        search = CallerSearch(
            self._linker, self._program, self._reverse_links, self._project, depth=depth
        )
        search.stop = stop
        damaged = False
        try:
            for file, test, tier in tests_named_after(self._program, self._project, key):
                search.found.add(TIERS.index(tier), depth, file, test)
            search.from_node(key)
        except OutOfTimeError:
            damaged = True
        best: dict[str, tuple[int, int]] = {}
        for (path, qualname), place in search.found.places.items():
            test = pytest_id(path, qualname)
            best[test] = min(place, best.get(test, place))
        nearest = sorted(best.items(), key=lambda item: item[::-1])
        tests = tuple(Related(id=test, tier=TIERS[rank]) for test, (rank, _) in nearest)
        return SearchResult(tests, complete=not (search.stopped or damaged), damaged=damaged)
