"""The files of a project as pytest sees them, with the classes in which their tests run."""

from collections.abc import Iterator

from remora.code.lowered import CLASS_SCOPE
from remora.code.resolve import Linker, Program
from remora.code.suite import Suite, is_conftest, is_test_file, last_name
from remora.ids import node_key, split_node_key

_SUBCLASSES = 200


class Suites:
    """Each file is looked at once: ask one as long as the code stays as it is."""

    def __init__(self, linker: Linker, program: Program) -> None:
        self._linker = linker
        self._program = program
        self._known: dict[str, Suite | None] = {}
        self._classes: dict[str, frozenset[str]] = {}

    def at(self, path: str) -> Suite | None:
        """A file as pytest sees it; None where there is nothing of pytest's in it."""
        if path not in self._known:
            lowered = self._program.lowered(path)
            known = is_test_file(path) or is_conftest(path)
            mine = lowered is not None and (known or "fixture" in lowered.names)
            self._known[path] = Suite(lowered) if mine and lowered is not None else None
            if lowered is not None and not mine and "/test" in f"/{path}":
                self._known[path] = Suite(lowered)  # bases of test classes, such as tests/base.py
        return self._known[path]

    def named_after(self, module: str) -> Iterator[Suite]:
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

    def _is_case(self, path: str, qualname: str, depth: int = 0) -> bool:
        """Whether a class is one of unittest's, as far as the names of its bases tell."""
        suite = self.at(path)
        scope = suite.classes.get(qualname) if suite is not None else None
        if suite is None or scope is None or depth > 4:
            return False
        if suite.is_case(qualname):
            return True
        return any(
            self._is_case(file, base, depth + 1)
            for base in map(last_name, scope.bases)
            for file in ((path,) if base in suite.classes else self._defining(base))
        )

    def _defining(self, name: str) -> list[str]:
        """The files that define a name, if there are few."""
        files = self._program.mentioning(f"def {name}") if name else ()
        return sorted(files) if len(files) <= 3 else []
