"""The files of a project as pytest sees them, with the classes in which their tests run."""

from collections.abc import Iterable, Iterator

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import CLASS_SCOPE, unqualified_name
from remora.code.links import Edge
from remora.code.pytest_model.pytest_file import PytestFile, is_conftest, is_test_file
from remora.ids import node_key, split_node_key

_SUBCLASSES = 200
_DEEPEST = 4
"""Classes between one of the project's and `TestCase`."""
_ROOM = 30_000
"""Records of the files that are held."""
_MOST_CALLING = 64
"""Files of which it is kept who calls what in them."""


class PytestProject:
    """A file is looked at once while there is room: ask one as long as the code stays as it is."""

    def __init__(self, linker: Linker, program: Program) -> None:
        self._linker = linker
        self._program = program
        self._known: dict[str, PytestFile | None] = {}
        self._weight = 0
        self._classes: dict[str, frozenset[str]] = {}
        self._calling: dict[str, dict[str, dict[str, None]]] = {}
        self._decorated: dict[str, dict[tuple[str, int], list[str]]] = {}

    def at(self, path: str) -> PytestFile | None:
        """A file as pytest sees it; None where there is nothing of pytest's in it."""
        if path in self._known:
            known = self._known.pop(path)  # used last: it goes last
        else:
            known = self._find(path)
            self._weight += _weight(known)
        self._known[path] = known
        while self._weight > _ROOM and len(self._known) > 1:
            self._weight -= _weight(self._known.pop(next(iter(self._known))))
        return known

    def _find(self, path: str) -> PytestFile | None:
        lowered = self._program.lowered(path)
        if lowered is None:
            return None
        known = is_test_file(path) or is_conftest(path) or "fixture" in lowered.names
        # bases of test classes, such as tests/base.py
        return PytestFile(lowered) if known or "/test" in f"/{path}" else None

    def named_after(self, module: str) -> Iterator[PytestFile]:
        """The test files that are named after a module."""
        ends = (f"/test_{module}.py", f"/{module}_test.py")
        for path in sorted(p for p in self._program.paths() if f"/{p}".endswith(ends)):
            if suite := self.at(path):
                yield suite

    def classes_in(self, path: str) -> frozenset[str]:
        """Qualnames of the classes of a file."""
        if path not in self._classes:
            lowered = self._program.lowered(path)
            scopes = lowered.scopes if lowered is not None else ()
            self._classes[path] = frozenset(s.qualname for s in scopes if s.kind == CLASS_SCOPE)
        return self._classes[path]

    def decorated(self, edge: Edge) -> list[str]:
        """Keys of what is decorated where a caller calls something."""
        path, qualname = split_node_key(edge.key)
        if path not in self._decorated:
            self._decorated[path] = self._find_decorated(path)
        places = self._decorated[path]
        return [key for line in edge.lines for key in places.get((qualname, line), ())]

    def _find_decorated(self, path: str) -> dict[tuple[str, int], list[str]]:
        """By the node and the line that call a decorator."""
        found: dict[tuple[str, int], list[str]] = {}
        lowered = self._program.lowered(path)
        if lowered is None:
            return found
        for scope in lowered.scopes:
            for call in [lowered.calls[number] for number in scope.decorators]:
                caller = lowered.scopes[call.scope].qualname
                found.setdefault((caller, call.line), []).append(node_key(path, scope.qualname))
        return found

    def calling(self, path: str, name: str) -> Iterable[str]:
        """Keys of the nodes of a file that call an attribute of that name."""
        if path not in self._calling:
            if len(self._calling) >= _MOST_CALLING:
                self._calling.clear()
            self._calling[path] = self._find_calling(path)
        return self._calling[path].get(name, ())

    def _find_calling(self, path: str) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        lowered = self._program.lowered(path)
        for call in lowered.calls if lowered is not None else ():
            name = "" if isinstance(call.callee, str) else unqualified_name(call.callee)
            if name and lowered is not None:
                owner = lowered.scopes[call.scope].qualname
                found.setdefault(name, {})[node_key(path, owner)] = None
        return found

    def running(self, path: str, owner: str, name: str) -> Iterator[tuple[str, str]]:
        """Classes, by file, in which pytest runs the inherited test `name` of class `owner`."""
        waiting, seen = [(path, owner)], {(path, owner)}
        while waiting and len(seen) < _SUBCLASSES:
            file, qualname = waiting.pop()
            suite = self.at(file)
            scope = suite.classes.get(qualname) if suite is not None else None
            if scope is None or ((file, qualname) != (path, owner) and name in scope.binds):
                continue
            if is_test_file(file) and (
                scope.name.startswith("Test") or self._is_case(file, qualname)
            ):
                yield file, qualname
            for edge in self._linker.subclasses(node_key(file, qualname)):
                below = split_node_key(edge.key)
                if below not in seen:
                    seen.add(below)
                    waiting.append(below)

    def prepared(self, path: str, owner: str, name: str) -> Iterator[tuple[PytestFile, str]]:
        """Tests, by file, that run where the method `name` of class `owner` prepares them, or
        gives them a fixture; those that the classes inherit too."""
        for file, runs in self.running(path, owner, name):
            suite = self.at(file)
            if suite is not None:
                for test in dict.fromkeys(self._inherited(file, runs)):
                    yield suite, f"{runs}.{test}"

    def _inherited(self, path: str, qualname: str) -> Iterator[str]:
        """Names of the tests of a class and of those above it."""
        waiting, seen = [(path, qualname)], {(path, qualname)}
        while waiting and len(seen) < _SUBCLASSES:
            file, owner = waiting.pop()
            suite = self.at(file)
            tests = suite.tests(owner) if suite is not None else ()
            names = (test.removeprefix(f"{owner}.") for test in tests)
            yield from (name for name in names if "." not in name)
            above = [base for base in self._bases(file, owner) if base not in seen]
            seen.update(above)
            waiting += above

    def _bases(self, path: str, qualname: str) -> list[tuple[str, str]]:
        """Classes of the project that have the names of a class's bases."""
        suite = self.at(path)
        scope = suite.classes.get(qualname) if suite is not None else None
        if suite is None or scope is None:
            return []
        found = []
        for base in map(unqualified_name, scope.bases):
            if base in suite.classes:
                found.append((path, base))
            else:
                name = suite.imported(base)
                found += [(file, name) for file in self._defining(name)]
        return found

    def _is_case(self, path: str, qualname: str, depth: int = 0) -> bool:
        """Whether a class is one of unittest's, as far as the names of its bases tell."""
        suite = self.at(path)
        if suite is None or depth > _DEEPEST:
            return False
        above = self._bases(path, qualname)
        return suite.is_case(qualname) or any(self._is_case(*one, depth + 1) for one in above)

    def _defining(self, name: str) -> list[str]:
        """The files that define a name, if there are few."""
        files = self._program.mentioning(f"def {name}") if name else ()
        return sorted(files) if len(files) <= 3 else []


def _weight(suite: PytestFile | None) -> int:
    """How many records a file has; what is no file of tests weighs next to nothing."""
    return 0 if suite is None else suite.weight
