"""Which tests exercise a node, as far as the code itself can tell."""

import heapq
import re
from collections.abc import Iterator

from remora.code.backlinks import Backlinks
from remora.code.edges import TIERS, Related
from remora.code.lowered import CLASS_SCOPE, FUNCTION_SCOPE, IMPORT_FROM, Lowered
from remora.code.resolve import Linker, Program
from remora.code.suite import Suite, is_conftest, is_test_file, pytest_id
from remora.code.suites import Suites
from remora.ids import MODULE, node_key, split_node_key

DEPTH = 10
"""Calls between a test and a node at most."""
_STEPS = 3_000
"""Nodes looked at for one question at most: a node that everything uses has no list of its own."""
_EXACT, _INFERRED, _UNIQUE = (TIERS.index(tier) for tier in ("exact", "inferred", "unique"))
_DUNDER = re.compile(r"__\w+__")
_MAKERS = ("__init__", "__new__")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


class RelatedTests:
    """Asked about one state of the code; what was found out is kept for the next question."""

    def __init__(self, linker: Linker, program: Program) -> None:
        self.linker = linker
        self.program = program
        self.backlinks = Backlinks(linker, program)
        self.suites = Suites(linker, program)

    def of(self, key: str, *, depth: int = DEPTH) -> tuple[Related, ...]:
        """Tests that call the node, through at most `depth` calls, fixtures included; that mention
        what they import of it; and that are named after it.

        The tier is that of the weakest link in between; by name alone it is `unique`. Sorted by tier,
        of these the nearest first; an unknown node has none.
        """
        search = _Search(self, depth)
        search.by_call(key)
        search.by_import(key)
        search.by_name(key)
        return tuple(
            Related(id=test, tier=TIERS[rank])
            for test, (rank, _) in sorted(search.found.items(), key=lambda item: item[::-1])
        )


class _Search:
    """One question: walks backwards from a node, the surest and shortest ways first."""

    def __init__(self, about: RelatedTests, depth: int) -> None:
        self._linker = about.linker
        self._program = about.program
        self._backlinks = about.backlinks
        self._suites = about.suites
        self._depth = depth
        self._waiting: list[tuple[int, int, str]] = []
        self._seen: set[str] = set()
        self._extended: set[str] = set()
        self.found: dict[str, tuple[int, int]] = {}
        """By pytest id: rank of the tier, and calls in between."""

    def by_call(self, key: str) -> None:
        """Tests from which a chain of calls leads to the node."""
        for start in self._starts(key):
            self._push(_EXACT, 0, start)
        while self._waiting and len(self._seen) < _STEPS:
            rank, depth, reached = heapq.heappop(self._waiting)
            if reached not in self._seen:
                self._seen.add(reached)
                self._reach(rank, depth, reached)

    def by_import(self, key: str) -> None:
        """Tests that mention the name under which their file imports the node."""
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

    def by_name(self, key: str) -> None:
        """Tests that are called like the node: `test_foo`, `TestFoo`, or `test_module.py`."""
        path, qualname = split_node_key(key)
        module = _module_name(path)
        if qualname == MODULE:
            for suite in self._suites.named_after(module):
                for test in suite.tests():
                    self._found(_UNIQUE, self._depth, suite, test)
            return
        name = qualname.rpartition(".")[2].partition("#")[0]
        near = {suite.path for suite in self._suites.named_after(module)}
        for named in (f"def test_{_snake(name)}", f"def Test{_camel(name)}"):
            files = [p for p in self._program.mentioning(named) if is_test_file(p)]
            near_files = [p for p in files if p in near]
            # the only one of that name, or one in the file that is named after the module
            for file in near_files or (files if len(files) == 1 else []):
                self._named(file, named.removeprefix("def "))

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
        if suite is not None and self._part(rank, depth, suite, qualname):
            return
        if depth >= self._depth:
            return
        callers = self._backlinks.callers(key)
        for edge in callers:
            self._push(max(rank, TIERS.index(edge.tier)), depth + 1, edge.key)
        owner, _, name = qualname.rpartition(".")
        called_by_others = not callers or (_DUNDER.fullmatch(name) and name not in _MAKERS)
        if called_by_others and owner in self._suites.classes_in(path):
            self._instances(max(rank, _INFERRED), depth + 1, node_key(path, owner))

    def _instances(self, rank: int, depth: int, key: str) -> None:
        """Who makes, hands over or extends a class: others call its methods by themselves, as
        operators and libraries do."""
        waiting = [(rank, key)]
        while waiting:  # hundreds of classes may each extend the one before
            rank, key = waiting.pop()
            self._push(rank, depth, key)
            for maker in _MAKERS:
                path, qualname = split_node_key(key)
                self._push(rank, depth, node_key(path, f"{qualname}.{maker}"))
            if key not in self._extended:
                self._extended.add(key)
                self._mentioned(rank, key)
                extending = reversed(self._linker.subclasses(key))
                waiting += [(max(rank, TIERS.index(edge.tier)), edge.key) for edge in extending]

    def _mentioned(self, rank: int, key: str) -> None:
        """Tests that mention a class, in its own file or imported."""
        path, qualname = split_node_key(key)
        suite = self._suites.at(path)
        if suite is not None:
            for test in suite.mentioning(qualname):
                self._part(rank, self._depth, suite, test)
        self.by_import(key)

    def _part(self, rank: int, depth: int, suite: Suite, qualname: str) -> bool:
        """A node of a test file was reached; False: it is none of pytest's."""
        part = suite.part(qualname)
        if part is None:
            return False
        kind, outer = part
        if kind == "test":
            self._found(rank, depth, suite, outer)
        elif kind == "preparation":
            for test in suite.tests(outer.rpartition(".")[0]):
                self._found(rank, depth, suite, test)
        else:
            self._users(rank, depth, suite, suite.fixture_name(outer))
        return kind != "fixture" or depth >= self._depth

    def _users(self, rank: int, depth: int, suite: Suite, fixture: str) -> None:
        """Whoever asks for a fixture by name, where pytest would find it."""
        for path in self._program.mentioning(fixture):
            asking = self._suites.at(path) if _sees(path, suite.path) else None
            if asking is None or (asking.gives(fixture) and path != suite.path):
                continue
            for user in asking.users(fixture):
                if depth < self._depth and asking.part(user) != ("test", user):
                    self._push(rank, depth + 1, node_key(path, user))
                else:
                    self._found(rank, depth, asking, user)

    def _found(self, rank: int, depth: int, suite: Suite, qualname: str) -> None:
        """A test; one of a class runs in each class below too."""
        owner, _, name = qualname.rpartition(".")
        if not owner:
            self._keep((rank, depth), pytest_id(suite.path, qualname))
            return
        for path, runs in self._suites.running(suite.path, owner, name):
            self._keep((rank, depth), pytest_id(path, f"{runs}.{name}"))

    def _keep(self, place: tuple[int, int], test: str) -> None:
        self.found[test] = min(place, self.found.get(test, place))

    def _named(self, path: str, name: str) -> None:
        suite = self._suites.at(path)
        for test in suite.tests() if suite is not None else ():
            parts = test.split(".")
            if suite is not None and name in {part.partition("#")[0] for part in parts}:
                self._found(_UNIQUE, self._depth, suite, test)


def _aliases(lowered: Lowered, qualname: str) -> set[str]:
    """Under which names a file imports a definition of that name."""
    name = qualname.partition(".")[0].partition("#")[0]
    return {
        alias
        for scope in lowered.scopes
        for alias, binds in scope.binds.items()
        if any(bind.kind == IMPORT_FROM and bind.extra == name for bind in binds)
    }


def _sees(path: str, fixture_path: str) -> bool:
    """Whether tests of `path` find the fixtures of the other file."""
    if is_conftest(fixture_path):
        folder = fixture_path.removesuffix("conftest.py")
        return path.startswith(folder)
    return path == fixture_path or not is_test_file(fixture_path)


def _module_name(path: str) -> str:
    """`foo` of `pkg/foo.py`, `pkg` of `pkg/__init__.py`."""
    folder, _, file = path.removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if file == "__init__" else file
    return name.strip("_")


def _snake(name: str) -> str:
    return "_".join(word.lower() for word in _WORD.findall(name)) or name


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)
