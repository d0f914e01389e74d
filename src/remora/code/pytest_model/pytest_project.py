"""Test files of a project, and the classes in which pytest runs their tests."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE, LoweredFile, unqualified_name
from remora.code.links import Edge
from remora.code.pytest_model.pytest_file import PytestFile, is_conftest, is_unittest_file
from remora.code.pytest_model.pytest_settings import PytestSettings
from remora.ids import node_key, split_node_key

_Kind = Literal["", "plain", "unittest"]
_CONSTRUCTORS = frozenset(("__init__", "__new__"))
_CONSTRUCTING = re.compile(r"(Error|Exception|Warning|Enum|Flag|Tuple|TypedDict|BaseModel)$")
"""Names of classes of libraries that have a constructor: pytest does not collect their kind."""
_MAX_CLASSES = 200
_MAX_FILES = 96  # maximum number of cached files; each takes about 0.3 MB


class PytestProject:
    """Cache of parsed pytest files for one state of the code."""

    def __init__(self, linker: Linker, program: Program, settings: PytestSettings) -> None:
        self._linker = linker
        self._program = program
        self.settings = settings
        self.file = lru_cache(maxsize=_MAX_FILES)(self._find)
        """Returns the tests and fixtures of a file, or None if the file cannot contain any."""
        self._parsed = lru_cache(maxsize=_MAX_FILES)(self._parse)
        self._attribute_calls = lru_cache(maxsize=_MAX_FILES)(self._find_attribute_calls)
        self.collects = lru_cache(maxsize=None)(self._collects)
        """Returns True if pytest collects a file, or does so if its command names the file."""
        self.classes_in = lru_cache(maxsize=None)(self._find_classes)
        """Returns the qualnames of the classes in a file."""
        self.kind = lru_cache(maxsize=None)(self._find_kind)
        """Returns how pytest runs a class in a file, which is empty if it does not collect it."""
        self._decorated = lru_cache(maxsize=None)(self._find_decorated)

    def _find(self, path: str) -> PytestFile | None:
        if not (lowered := self._lowered(path)).scopes:
            return None
        # test folders may contain base classes, such as tests/base.py
        known = self.collects(path) or is_conftest(path) or "/test" in f"/{path}"
        return self._parsed(path) if known or "fixture" in lowered.names else None

    def _parse(self, path: str) -> PytestFile:
        return PytestFile(self._lowered(path), self.settings, collected=self.collects(path))

    def _collects(self, path: str) -> bool:
        """Return True if pytest collects a file, and no `conftest.py` excludes it or its folder."""
        named = self.settings.collects(path) or is_unittest_file(path)
        return named and not any(
            fnmatchcase(f"{path}/", f"{conftest.removesuffix('conftest.py')}{ignored}/*")
            for conftest in self.conftests(path)
            for _, mark, ignored in (n.rpartition("ignore ") for n in self._lowered(conftest).names)
            if mark
        )

    def conftests(self, path: str) -> Iterator[str]:
        """Yield the paths of the `conftest.py` files that serve a file, the nearest first."""
        paths = self._program.paths()
        while path:
            path = path.rpartition("/")[0]
            if (conftest := f"{path}/conftest.py".lstrip("/")) in paths:
                yield conftest

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

    def classes_running(self, path: str, owner: str, name: str) -> Iterator[tuple[PytestFile, str]]:
        """Yield (file, class) for each test class that has method `name` of class `owner`."""
        pending, seen = [(path, owner)], {(path, owner)}
        while pending and len(seen) < _MAX_CLASSES:
            place = file_path, qualname = pending.pop()
            file = self.file(file_path)
            scope = file.classes.get(qualname) if file is not None else None
            if file is None or scope is None or (place != (path, owner) and name in scope.binds):
                continue
            if self.kind(*place):
                yield file, qualname
            for edge in self._linker.subclasses(node_key(*place)):
                if (subclass := split_node_key(edge.key)) not in seen:
                    seen.add(subclass)
                    pending.append(subclass)

    def tests_set_up_by(self, path: str, owner: str, name: str) -> Iterator[tuple[PytestFile, str]]:
        """Yield all tests of the classes that run setup method `owner.name`, including inherited
        tests.
        """
        for file, runs in self.classes_running(path, owner, name):
            for test in dict.fromkeys(self._test_names(file.path, runs)):
                yield file, f"{runs}.{test}"

    def fixture_for(self, file: PytestFile, user: str, name: str) -> tuple[str, str] | None:
        """Return (path, qualname) of the fixture that a test or another fixture gets by its name.

        The result is None if it is defined neither around `user` nor in a `conftest.py`.
        """
        for path in dict.fromkeys((file.path, *self.conftests(file.path))):
            inside = user if path == file.path else "."
            fixtures = self._parsed(path).fixtures.items()
            named = [f for f, known in fixtures if known == name and f != inside]
            around = [f for f in named if inside.startswith("".join(f.rpartition(".")[:2]))]
            if around:
                return path, max(around, key=lambda fixture: fixture.count("."))
        return None

    def runs(self, file: PytestFile, qualname: str) -> bool:
        """Return True if pytest collects a test function, or a test method of a class."""
        owner, _, name = qualname.rpartition(".")
        kind = self.kind(file.path, owner) if owner else "plain"
        if kind == "unittest":
            return name.startswith("test")
        is_run = bool(owner) or (file.is_collected and file.may_run(qualname))
        return kind == "plain" and is_run and self.settings.names_test(name.partition("#")[0])

    def _find_kind(self, path: str, qualname: str) -> _Kind:
        family = list(self._family(path, qualname))
        file = family[0][0]
        switches = (other.switches[owner] for other, owner in family if owner in other.switches)
        outer, _, last = qualname.rpartition(".")
        if not (file.is_collected and file.may_run(qualname) and next(switches, True)):
            return ""
        if outer and (outer not in file.classes or self.kind(path, outer) != "plain"):
            return ""
        scopes = [other.classes[owner] for other, owner in family]
        bases = [unqualified_name(base) for scope in scopes for base in scope.bases]
        order = self._linker.class_order(node_key(path, qualname))
        bases += [key for key in order if key.startswith("ext:")]  # `TestCase` by any name
        if any(base.endswith("TestCase") for base in bases):
            return "unittest"
        has_constructor = any(not _CONSTRUCTORS.isdisjoint(scope.binds) for scope in scopes)
        has_constructor = has_constructor or any(map(_CONSTRUCTING.search, bases))
        return "plain" if self.settings.names_class(last) and not has_constructor else ""

    def _test_names(self, path: str, qualname: str) -> Iterator[str]:
        for file, owner in self._family(path, qualname):
            names = (test.removeprefix(f"{owner}.") for test in file.tests(owner))
            yield from (name for name in names if "." not in name)

    def _family(self, path: str, qualname: str) -> Iterator[tuple[PytestFile, str]]:
        """Yield a class and its bases in the project, each with its file, the nearest first."""
        for key in self._linker.class_order(node_key(path, qualname)):
            base_path, base = split_node_key(key)
            if key.startswith("node:"):
                yield self._parsed(base_path), base
