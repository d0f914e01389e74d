"""What pytest sees in one file: its tests, its fixtures, and what prepares them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from remora.code.ir.model import (
    CLASS_SCOPE,
    CONTAINER,
    FUNCTION_SCOPE,
    IMPORT_FROM,
    TEXT,
    VALUE,
    Call,
    LoweredFile,
    Scope,
    estimated_records,
    unqualified_name,
)
from remora.code.name_usage import name_usage
from remora.ids import unspell_path

PytestRole = Literal["test", "fixture", "preparation"]
_PREPARATIONS = frozenset(
    f"{verb}{where}"
    for verb in ("setup", "teardown")
    for where in ("", "_method", "_class", "_function", "_module")
) | {"setUp", "tearDown", "setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}
FIXTURE_REQUEST_FUNCTIONS = ("usefixtures", "getfixturevalue")
"""Functions of pytest's that are given the names of fixtures."""
_CASES = re.compile(r"TestCase$")
_REPEAT = re.compile(r"#\d+")


def is_test_file(path: str) -> bool:
    """Whether pytest collects the file, as it is set up by default."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def is_conftest(path: str) -> bool:
    """Whether the file gives fixtures to all tests of its folder and below."""
    return path.rpartition("/")[2] == "conftest.py"


def pytest_id(path: str, qualname: str) -> str:
    """pytest's id of a test, without parameters. A path that is not UTF-8 stays spelled."""
    raw = unspell_path(path)
    shown = raw if raw.isprintable() else path
    return "::".join([shown, *_REPEAT.sub("", qualname).split(".")])


class PytestFile:
    """One file as pytest sees it; `path` is spelled. Qualnames are those of node keys."""

    def __init__(self, lowered: LoweredFile) -> None:
        self.path = lowered.path
        self.weight = estimated_records(lowered)
        self._lowered = lowered
        self._functions: dict[str, Scope] = {}
        self.classes: dict[str, Scope] = {}
        for scope in lowered.scopes:
            if scope.kind == FUNCTION_SCOPE:
                self._functions[scope.qualname] = scope
            elif scope.kind == CLASS_SCOPE:
                self.classes[scope.qualname] = scope
        self._fixtures: dict[str, str] = {}
        self._unasked: set[str] = set()
        for qualname, scope in self._functions.items():
            self._note_fixture(qualname, scope)

    def part(self, qualname: str) -> tuple[PytestRole, str] | None:
        """What of pytest's the node is, or lies in, and its qualname."""
        outer = self._outermost(qualname)
        if outer is None:
            return None
        if outer in self._fixtures:
            return "fixture", outer
        name = self._functions[outer].name
        if name in _PREPARATIONS:
            return "preparation", outer
        # a class may be the base of one in a file that is collected
        possible = is_test_file(self.path) or "." in outer
        return ("test", outer) if name.startswith("test") and possible else None

    def fixture_name(self, qualname: str) -> str:
        """By which tests ask for the fixture."""
        return self._fixtures[qualname]

    def is_automatic(self, qualname: str) -> bool:
        """Whether all tests around get the fixture, without asking (`autouse`)."""
        return qualname in self._unasked

    def gives(self, name: str) -> bool:
        """Whether the file has a fixture of that name."""
        return name in self._fixtures.values()

    def tests(self, within: str = "") -> Iterator[str]:
        """Qualnames of the test functions of the file, or of one of its classes."""
        prefix = f"{within}." if within else ""
        for qualname in self._functions:
            if qualname.startswith(prefix) and self.part(qualname) == ("test", qualname):
                yield qualname

    def users(self, fixture: str) -> Iterator[str]:
        """Tests and fixtures that ask for a fixture by name: as parameter, by mark, or by
        `request.getfixturevalue`."""
        yield from self._asking.get(fixture, ())

    def mentioning(self, name: str) -> Iterator[str]:
        """Tests and fixtures whose code, or whose decorators, mention a name."""
        for qualname in sorted(self._mentioned.get(name, ())):
            part = self.part(qualname)
            if part is not None:
                yield part[1]

    def mentions(self, qualname: str, names: frozenset[str]) -> bool:
        """Whether the code of a node, or its decorators, mention one of the names."""
        return any(qualname in self._mentioned.get(name, ()) for name in names)

    @cached_property
    def _mentioned(self) -> Mapping[str, set[str]]:
        return name_usage(self._lowered)

    def is_case(self, qualname: str) -> bool:
        """Whether a class is, by the name of a base, one of unittest's."""
        scope = self.classes.get(qualname)
        return scope is not None and any(
            _CASES.search(unqualified_name(base)) for base in scope.bases
        )

    def imported(self, name: str) -> str:
        """What is called `name` here, by the name that it has where it is defined."""
        for bind in self._lowered.scopes[0].binds.get(name, ()):
            if bind.kind == IMPORT_FROM:
                return str(bind.extra)
        return name

    def _outermost(self, qualname: str) -> str | None:
        """The function around a nested one: the first part that is no class."""
        parts = qualname.split(".")
        for end in range(1, len(parts) + 1):
            outer = ".".join(parts[:end])
            if outer in self._functions:
                return outer
        return None

    def _note_fixture(self, qualname: str, scope: Scope) -> None:
        for decorator in self._decorators(scope):
            call = self._called(decorator)
            if unqualified_name(decorator if call is None else call.callee).endswith("fixture"):
                given = dict(call.keywords) if call is not None else {}
                texts = _texts([given.get("name")])
                self._fixtures[qualname] = texts[0] if texts else scope.name
                if "autouse" in given:
                    self._unasked.add(qualname)

    @cached_property
    def _asking(self) -> Mapping[str, Sequence[str]]:
        """Name of a fixture → who asks for it, each once."""
        found: dict[str, dict[str, None]] = {}
        for qualname, names in self._asked():
            for name in names:
                found.setdefault(name, {})[qualname] = None
        return {name: list(users) for name, users in found.items()}

    def _asked(self) -> Iterator[tuple[str, Iterable[str]]]:
        for call in self._lowered.calls:
            if unqualified_name(call.callee) == "getfixturevalue":
                part = self.part(self._lowered.scopes[call.scope].qualname)
                yield from [(part[1], _texts(call.args))] if part is not None else []
        for qualname, scope in self._functions.items():
            if self.part(qualname) is not None:
                yield qualname, [param.name for param in scope.params]
                yield qualname, self._used(self._decorators(scope))
        for within, scope in [("", self._lowered.scopes[0]), *self.classes.items()]:
            marks = [bind.term for bind in scope.binds.get("pytestmark", ()) if bind.kind == VALUE]
            names = list(self._used([*self._decorators(scope), *marks]))
            for test in self.tests(within) if names else ():
                yield test, names

    def _used(self, marks: Iterable[Any]) -> Iterator[str]:
        """What `usefixtures` among them names."""
        waiting = list(marks)
        while waiting:
            mark = waiting.pop()
            call = self._called(mark)
            if call is not None and unqualified_name(call.callee) == "usefixtures":
                yield from _texts(call.args)
            elif call is None and isinstance(mark, Sequence) and mark[0] == CONTAINER:
                waiting += self._lowered.containers[mark[1]].items

    def _decorators(self, scope: Scope) -> list[Any]:
        """Their terms."""
        return [self._lowered.calls[number].callee for number in scope.decorators]

    def _called(self, term: Any) -> Call | None:
        return self._lowered.calls[term] if isinstance(term, int) else None


def _texts(terms: Iterable[Any]) -> list[str]:
    """Those of the terms that are constant strings."""
    return [str(t[1]) for t in terms if isinstance(t, Sequence) and len(t) > 1 and t[0] == TEXT]
