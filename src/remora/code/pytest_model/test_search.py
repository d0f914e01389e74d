"""The way back from a node to the tests that lead to it, the surest and shortest ways first."""

import heapq
import re
from collections.abc import Iterator, Sequence

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.names.unique_method import KNOWN_ELSEWHERE
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE, IMPORT_FROM, LoweredFile
from remora.code.links import TIERS, Edge
from remora.code.pytest_model.pytest_file import PytestFile, is_test_file
from remora.code.pytest_model.pytest_project import PytestProject
from remora.code.pytest_model.reverse_links import ReverseLinks
from remora.code.pytest_model.test_index import FoundTests
from remora.ids import MODULE, node_key, split_node_key

_STEPS = 6_000
"""Nodes looked at for one question at most: a node that everything uses has no list of its own."""
_EXACT, _INFERRED, _UNIQUE = (TIERS.index(tier) for tier in ("exact", "inferred", "unique"))
_FEW_FILES = 24
"""Files from which the name of a method alone tells who calls it."""
_DUNDER = re.compile(r"__\w+__")
_MAKERS = ("__init__", "__new__")
_PICKLING = frozenset(("pickle", "dumps", "loads", "copy", "deepcopy"))
_ASKED_BY: dict[str, frozenset[str]] = {
    "__repr__": frozenset(("repr", "print", "format", "pprint", "pformat")),
    "__str__": frozenset(("str", "print", "format")),
    "__format__": frozenset(("format",)),
    "__dir__": frozenset(("dir",)),
    "__getstate__": _PICKLING,
    "__setstate__": _PICKLING,
    "__reduce__": _PICKLING,
    "__reduce_ex__": _PICKLING,
    "__getnewargs__": _PICKLING,
    "__getnewargs_ex__": _PICKLING,
    "__sizeof__": frozenset(("getsizeof",)),
    "__signature__": frozenset(("signature",)),
}
"""Special methods that few ask for, and what a test says that does. They have callers seldom, and
having an instance alone says next to nothing."""


class CallerSearch:
    """One question: from a node through its callers, at most `depth` of them in a row."""

    def __init__(
        self,
        linker: Linker,
        program: Program,
        backlinks: ReverseLinks,
        suites: PytestProject,
        *,
        depth: int,
        saying: frozenset[str] = frozenset(),
    ) -> None:
        self._linker = linker
        self._program = program
        self._backlinks = backlinks
        self._suites = suites
        self._depth = depth
        self._waiting: list[tuple[int, int, str]] = []
        self._seen: set[str] = set()
        self._extended: set[str] = set()
        self._one = True
        self.found = FoundTests(program, suites, saying)

    def to(self, key: str) -> None:
        """Find the tests from which a chain of calls leads to the node, or that mention the name
        under which their file imports it."""
        starts = list(self._starts(key))
        self._one = len(starts) == 1
        for start in starts:
            self._push(_EXACT, 0, start)
        self._go()
        self._importing(key)

    def to_instances(self, rank: int, key: str) -> None:
        """Find the tests that may have an instance of a class."""
        self._by_instances([(rank, key)], 1)
        self._go()

    def _go(self) -> None:
        while self._waiting and len(self._seen) < _STEPS:
            rank, depth, reached = heapq.heappop(self._waiting)
            if reached not in self._seen:
                self._seen.add(reached)
                self._reach(rank, depth, reached)

    def _importing(self, key: str) -> None:
        _, qualname = split_node_key(key)
        for edge in self._backlinks.importers(key):
            path, _ = split_node_key(edge.key)
            suite = self._suites.at(path)
            lowered = self._program.lowered(path)
            if suite is None or lowered is None or not is_test_file(path):
                continue
            rank = max(_INFERRED, TIERS.index(edge.tier))
            for alias in _aliases(lowered, qualname):
                for test in suite.mentioning(alias):
                    self._part(rank, self._depth, suite, test)

    def _starts(self, key: str) -> Iterator[str]:
        """The node; of a class or module everything in it too, but not of a function."""
        path, qualname = split_node_key(key)
        yield key
        whole = qualname == MODULE
        if not whole and qualname not in self._suites.classes_in(path):
            return
        lowered = self._program.lowered(path)
        for scope in lowered.scopes if lowered is not None else ():
            is_node = scope.kind in {FUNCTION_SCOPE, CLASS_SCOPE}
            if is_node and (whole or scope.qualname.startswith(f"{qualname}.")):
                yield node_key(path, scope.qualname)

    def _push(self, rank: int, depth: int, key: str) -> None:
        heapq.heappush(self._waiting, (rank, depth, key))

    def _reach(self, rank: int, depth: int, key: str) -> None:
        path, qualname = split_node_key(key)
        suite = self._suites.at(path)
        is_pytests = suite is not None and self._part(rank, depth, suite, qualname)
        if depth >= self._depth:
            return
        callers = self._backlinks.callers(key)
        for edge in callers:
            self._push(max(rank, TIERS.index(edge.tier)), depth + 1, edge.key)
        if not is_pytests:
            alone = not any(self._runs_later(edge) for edge in callers)
            self._by_others(max(rank, _INFERRED), depth + 1, key, alone=alone)

    def _runs_later(self, edge: Edge) -> bool:
        """Whether a caller is no body of a module or class, which runs when it is imported."""
        path, qualname = split_node_key(edge.key)
        return qualname != MODULE and qualname not in self._suites.classes_in(path)

    def _by_others(self, rank: int, depth: int, key: str, *, alone: bool) -> None:
        """What operators and libraries call: a method, where somebody has an instance; a nested
        function, where somebody got it. `alone`: nobody is known to call it."""
        path, qualname = split_node_key(key)
        owner, _, name = qualname.rpartition(".")
        around = node_key(path, owner)
        if owner not in self._suites.classes_in(path):
            if owner and alone:
                self._push(rank, depth, around)
                self._by_instances(self._keeping(rank, depth, around), depth)
        elif name in _ASKED_BY:
            if depth == 1 and self._one:
                self._asked_for(rank, around, _ASKED_BY[name])
        elif not _DUNDER.fullmatch(name) and name not in KNOWN_ELSEWHERE:
            self._by_spelling(depth, name)
            if alone:
                self._by_instances([(rank, around)], depth)
        elif alone or (_DUNDER.fullmatch(name) and name not in _MAKERS):
            self._by_instances([(rank, around)], depth)

    def _by_spelling(self, depth: int, name: str) -> None:
        """Who calls a method of that name on something of which nothing is known."""
        paths = self._program.mentioning(name)
        for path in paths if len(paths) <= _FEW_FILES else ():
            for key in self._suites.calling(path, name):
                self._push(_UNIQUE, depth, key)

    def _asked_for(self, rank: int, owner: str, saying: frozenset[str]) -> None:
        """Of the tests that have an instance those that say one of the names."""
        walk = CallerSearch(
            self._linker,
            self._program,
            self._backlinks,
            self._suites,
            depth=self._depth,
            saying=saying,
        )
        walk.to_instances(rank, owner)
        known = self.found.places
        for test, place in walk.found.places.items():
            known[test] = min(place, known.get(test, place))

    def _by_instances(self, classes: Sequence[tuple[int, str]], depth: int) -> None:
        """Who makes, hands over or extends a class."""
        waiting = list(classes)
        while waiting:  # hundreds of classes may each extend the one before
            rank, key = waiting.pop()
            if key in self._extended:
                continue
            self._extended.add(key)
            self._mentioning(rank, key)
            path, qualname = split_node_key(key)
            for maker in (key, *(node_key(path, f"{qualname}.{name}") for name in _MAKERS)):
                self._push(rank, depth, maker)
                waiting += self._keeping(rank, depth, maker)
            extending = reversed(self._linker.subclasses(key))
            waiting += [(max(rank, TIERS.index(edge.tier)), edge.key) for edge in extending]

    def _keeping(self, rank: int, depth: int, maker: str) -> list[tuple[int, str]]:
        """Who goes on having what an import made: what is decorated with it is looked at later; the
        classes in whose bodies it was made are given back."""
        found = []
        for edge in self._backlinks.callers(maker):
            if self._runs_later(edge):
                continue
            weaker = max(rank, TIERS.index(edge.tier))
            _, qualname = split_node_key(edge.key)
            decorated = self._suites.decorated(edge)
            for key in decorated:
                self._push(weaker, depth, key)
            if not decorated and qualname != MODULE:
                found.append((weaker, edge.key))
        return found

    def _mentioning(self, rank: int, key: str) -> None:
        """Tests that mention a class, in its own file or imported."""
        path, qualname = split_node_key(key)
        suite = self._suites.at(path)
        if suite is not None:
            for test in suite.mentioning(qualname):
                self._part(rank, self._depth, suite, test)
        self._importing(key)

    def _part(self, rank: int, depth: int, suite: PytestFile, qualname: str) -> bool:
        """A node of a test file was reached; False: it is none of pytest's."""
        part = suite.part(qualname)
        if part is None:
            return False
        kind, outer = part
        if kind == "test":
            self.found.test(rank, depth, suite, outer)
        elif kind == "preparation":
            self.found.around(rank, depth, suite, outer)
        else:
            if suite.is_automatic(outer):
                self.found.around(rank, depth, suite, outer)
            for asking, user in self.found.users(suite, suite.fixture_name(outer)):
                if depth < self._depth and asking.part(user) != ("test", user):
                    self._push(rank, depth + 1, node_key(asking.path, user))
                else:
                    self.found.test(rank, depth, asking, user)
        return True


def _aliases(lowered: LoweredFile, qualname: str) -> set[str]:
    """Under which names a file imports a definition of that name."""
    name = qualname.partition(".")[0].partition("#")[0]
    return {
        alias
        for scope in lowered.scopes
        for alias, binds in scope.binds.items()
        if any(bind.kind == IMPORT_FROM and bind.extra == name for bind in binds)
    }
