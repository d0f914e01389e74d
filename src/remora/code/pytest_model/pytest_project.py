"""Test files of a project, and the classes in which pytest runs their tests."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE, LoweredFile, unqualified_name
from remora.code.links import Edge
from remora.code.pytest_model.pytest_file import PytestFile, is_conftest, is_test_file
from remora.ids import node_key, split_node_key

_MAX_CLASSES = 200
_MAX_BASE_DEPTH = 4  # maximum number of classes between a test class and `TestCase`
_MAX_FILES = 96  # maximum number of cached files; each takes about 0.3 MB


class PytestProject:
    """Cache of parsed pytest files for one state of the code."""

    def __init__(self, linker: Linker, program: Program) -> None:
        self._linker = linker
        self._program = program
        self.file = lru_cache(maxsize=_MAX_FILES)(self._find)
        """Returns the tests and fixtures of a file, or None if the file cannot contain any."""
        self.classes_in = lru_cache(maxsize=None)(self._find_classes)
        """Returns the qualnames of the classes in a file."""
        self._decorated = lru_cache(maxsize=None)(self._find_decorated)
        self._attribute_calls = lru_cache(maxsize=_MAX_FILES)(self._find_attribute_calls)

    def _find(self, path: str) -> PytestFile | None:
        if (lowered := self._program.lowered(path)) is None:
            return None
        known = is_test_file(path) or is_conftest(path) or "fixture" in lowered.names
        # test folders may contain base classes, such as tests/base.py
        return PytestFile(lowered) if known or "/test" in f"/{path}" else None

    def files_named_after(self, module: str) -> Iterator[PytestFile]:
        names = (f"test_{module}.py", f"{module}_test.py")
        for path in sorted({path for name in names for path in self._paths_by_name.get(name, ())}):
            if pytest_file := self.file(path):
                yield pytest_file

    @cached_property
    def _paths_by_name(self) -> dict[str, list[str]]:
        """The paths of files whose names are those of test files, by file name."""
        found: dict[str, list[str]] = {}
        for path in self._program.paths():
            name = path.rpartition("/")[2]
            if name.startswith("test_") or name.endswith("_test.py"):
                found.setdefault(name, []).append(path)
        return found

    def _find_classes(self, path: str) -> frozenset[str]:
        scopes = self._lowered(path).scopes
        return frozenset(scope.qualname for scope in scopes if scope.kind == CLASS_SCOPE)

    def _lowered(self, path: str) -> LoweredFile:
        """Return the IR of a file, which is empty if there is no such file."""
        return self._program.lowered(path) or LoweredFile(path, ())

    def decorated_at(self, edge: Edge) -> list[str]:
        """Return the keys of the nodes whose decorators are called on the lines of an edge."""
        path, qualname = split_node_key(edge.key)
        places = self._decorated(path)
        return [key for line in edge.lines for key in places.get((qualname, line), ())]

    def _find_decorated(self, path: str) -> dict[tuple[str, int], list[str]]:
        """Map each decorator, as (calling qualname, line), to the keys of the decorated nodes."""
        found: dict[tuple[str, int], list[str]] = {}
        lowered = self._lowered(path)
        for scope in lowered.scopes:
            for call in [lowered.calls[number] for number in scope.decorators]:
                caller = lowered.scopes[call.scope].qualname
                found.setdefault((caller, call.line), []).append(node_key(path, scope.qualname))
        return found

    def defines_once(self, name: str) -> bool:
        """Return True if exactly one function or class of the project has this name."""
        paths = self._program.mentioning(f"def {name}")
        scopes = self._lowered(next(iter(paths))).scopes if len(paths) == 1 else ()
        kinds = {CLASS_SCOPE, FUNCTION_SCOPE}
        return sum(scope.name == name and scope.kind in kinds for scope in scopes) == 1

    def nodes_calling(self, path: str, name: str) -> Iterable[str]:
        """Return the keys of the nodes in a file that call an attribute named `name`."""
        return self._attribute_calls(path).get(name, ())

    def _find_attribute_calls(self, path: str) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        lowered = self._lowered(path)
        for call in lowered.calls:
            name = "" if isinstance(call.callee, str) else unqualified_name(call.callee)
            if name:
                owner = lowered.scopes[call.scope].qualname
                found.setdefault(name, {})[node_key(path, owner)] = None
        return found

    def classes_running(self, path: str, owner: str, name: str) -> Iterator[tuple[str, str]]:
        """Yield (path, class) for each class in which pytest runs test `name` of class `owner`."""
        pending, seen = [(path, owner)], {(path, owner)}
        while pending and len(seen) < _MAX_CLASSES:
            file, qualname = pending.pop()
            pytest_file = self.file(file)
            scope = pytest_file.classes.get(qualname) if pytest_file is not None else None
            if scope is None or ((file, qualname) != (path, owner) and name in scope.binds):
                continue
            if is_test_file(file) and (
                scope.name.startswith("Test") or self._is_unittest_case(file, qualname)
            ):
                yield file, qualname
            for edge in self._linker.subclasses(node_key(file, qualname)):
                if (subclass := split_node_key(edge.key)) not in seen:
                    seen.add(subclass)
                    pending.append(subclass)

    def tests_set_up_by(self, path: str, owner: str, name: str) -> Iterator[tuple[PytestFile, str]]:
        """Yield all tests of the classes that run setup method `owner.name`, including inherited
        tests.
        """
        for file, runs in self.classes_running(path, owner, name):
            if (pytest_file := self.file(file)) is not None:
                for test in dict.fromkeys(self._test_names(file, runs)):
                    yield pytest_file, f"{runs}.{test}"

    def _test_names(self, path: str, qualname: str) -> Iterator[str]:
        pending, seen = [(path, qualname)], {(path, qualname)}
        while pending and len(seen) < _MAX_CLASSES:
            file, owner = pending.pop()
            pytest_file = self.file(file)
            tests = pytest_file.tests(owner) if pytest_file is not None else ()
            names = (test.removeprefix(f"{owner}.") for test in tests)
            yield from (name for name in names if "." not in name)
            bases = [base for base in self._bases(file, owner) if base not in seen]
            seen.update(bases)
            pending += bases

    def _bases(self, path: str, qualname: str) -> list[tuple[str, str]]:
        """Return (path, class) for each project class with the name of a base of the class."""
        pytest_file = self.file(path)
        scope = pytest_file.classes.get(qualname) if pytest_file is not None else None
        if pytest_file is None or scope is None:
            return []
        found = []
        for base in map(unqualified_name, scope.bases):
            if base in pytest_file.classes:
                found.append((path, base))
            else:
                name = pytest_file.original_name(base)
                found += [(file, name) for file in self._defining(name)]
        return found

    def _is_unittest_case(self, path: str, qualname: str, depth: int = 0) -> bool:
        """Return True if a class derives from `TestCase`, judging by the names of its bases."""
        pytest_file = self.file(path)
        if pytest_file is None or depth > _MAX_BASE_DEPTH:
            return False
        bases = self._bases(path, qualname)
        return pytest_file.is_unittest_case(qualname) or any(
            self._is_unittest_case(*base, depth + 1) for base in bases
        )

    def _defining(self, name: str) -> list[str]:
        files = self._program.mentioning(f"def {name}") if name else ()
        return sorted(files) if len(files) <= 3 else []
